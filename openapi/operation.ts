/**
 * Adds to an operation the parts ts-rest does not know: credentials, headers, codes, content that is not
 * JSON.
 */
import { STATUS_CODES } from 'node:http';
import { errorCatalogue } from '@posthorn/contract/errors.ts';
import { exampleBody, textAnswers } from '@posthorn/contract/examples/index.ts';
import type { FieldDoc } from '@posthorn/contract/field-docs/field-doc.ts';
import { docOfField } from '@posthorn/contract/field-docs/index.ts';
import { IDEMPOTENCY_KEY_MAX_CHARS } from '@posthorn/contract/limits.ts';
import type { NamedRoute } from '@posthorn/contract/list-routes.ts';
import { PATH_PARAMS } from '@posthorn/contract/path-params.ts';
import {
  errorsOf,
  metaOf,
  type RouteAccess,
  type RouteAuth,
  takesBody,
} from '@posthorn/contract/route-meta.ts';
import { exampleOf } from './example-of.ts';
import type { Json } from './json.ts';
import { jsonSchemaOf } from './json-schema.ts';

type Route = NamedRoute['route'];
/** Selects the table of examples. */
export type Service = 'messaging' | 'billing';

const SECURITY: Record<RouteAuth, Json[]> = {
  none: [],
  jwt: [{ bearer: [] }],
  // The samples use the first one: programs have a key.
  any: [{ apiKey: [] }, { bearer: [] }],
  refresh: [{ refreshCookie: [], csrf: [] }],
  jwt_or_cookie: [{ bearer: [] }, { refreshCookie: [], csrf: [] }],
};

const ROLES: Record<RouteAccess, string> = {
  public: '',
  all: 'Any role.',
  owner_admin: 'Roles: owner, admin.',
  owner: 'Role: owner.',
  superadmin: 'Superadmins only.',
};

const SUCCESS: Record<string, string> = {
  101: 'Switching to the WebSocket protocol',
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'Done; the answer has no body',
  206: 'The requested part',
  302: 'A redirect',
  304: 'Not modified: your copy is current',
};

/** Completes the operation that ts-rest created for a route. */
export function completeOperation(operation: Json, route: Route, service: Service): Json {
  const meta = metaOf(route);
  const name = operation.operationId as string;
  return {
    ...operation,
    description: [meta.description, ROLES[meta.access], ...verification(meta.requiresVerifiedEmail)]
      .filter(Boolean)
      .join('\n\n'),
    security:
      SECURITY[meta.auth].length > 0 && meta.ticket
        ? [...SECURITY[meta.auth], { ticket: [] }]
        : SECURITY[meta.auth],
    parameters: [...givenParameters(operation.parameters as Json[], name), ...headerParameters(route, name)],
    ...(operation.requestBody
      ? { requestBody: requestBody(operation.requestBody as Json, route, exampleBody(service, name)) }
      : {}),
    responses: responses(operation.responses as Record<string, Json>, route, name),
  };
}

function verification(required: true | undefined): string[] {
  return required ? ['Requires a verified e-mail address.'] : [];
}

/** Without the ticket, which is a credential and is listed under `security`. */
function givenParameters(parameters: Json[], name: string): Json[] {
  return parameters
    .filter((parameter) => parameter.name !== 'ticket')
    .map((parameter) => {
      const key = parameter.name as string;
      if (parameter.in === 'path') {
        const [description, example] = PATH_PARAMS[key] ?? [];
        return { ...parameter, description, example };
      }
      const [text, example] = queryDoc(name, key) ?? [];
      const description = parameter.description ?? text;
      const shown = parameter.required
        ? { example: example ?? exampleOf(parameter.schema as Json, key) }
        : {};
      return { ...parameter, ...(description === undefined ? {} : { description }), ...shown };
    });
}

function queryDoc(name: string, key: string): FieldDoc | undefined {
  const [own, shared] = [docOfField(name, key), docOfField('query', key)];
  // Both lookups fall back to the plain name, but the first must not use that before the second was tried.
  return own === docOfField('', key) ? shared : own;
}

/** Headers used by a single route. */
const OWN_HEADERS: Readonly<Record<string, readonly string[]>> = {
  'auth.logout': ['CsrfToken'],
  'media.download': ['Range', 'IfNoneMatch', 'IfRange'],
  'openapi.document': ['IfNoneMatch'],
  'openapi.page': ['IfNoneMatch'],
  'openapi.script': ['IfNoneMatch'],
  'providerWebhook.ingest': ['ProviderToken'],
};

function headerParameters(route: Route, name: string): Json[] {
  const meta = metaOf(route);
  const shared = meta.operation ? ['ForceSend'] : meta.raw === 'sse' ? ['LastEventId'] : [];
  const others = [...shared, ...(OWN_HEADERS[name] ?? [])].map((parameter) => ref(`parameters/${parameter}`));
  return meta.operation ? [idempotencyKey(name), ...others] : others;
}

/** Each operation's sample has its own key: a second body under the same key is refused. */
function idempotencyKey(name: string): Json {
  return {
    name: 'Idempotency-Key',
    in: 'header',
    required: true,
    description: 'Your name for this send; repeating it never sends twice. Kept 72 hours.',
    schema: { type: 'string', minLength: 1, maxLength: IDEMPOTENCY_KEY_MAX_CHARS },
    example: `${name.split('.').at(-1)}-1001`,
  };
}

function requestBody({ description: _, ...body }: Json, route: Route, example: object | undefined): Json {
  // A body whose fields are all optional may be omitted.
  const schema =
    takesBody(route) && 'body' in route
      ? (route.body as { safeParse(v: unknown): { success: boolean } })
      : null;
  const required = !schema?.safeParse({}).success;
  const shown = example === undefined ? {} : { example };
  const json = (body.content as Record<string, Json>)['application/json'];
  const content = { 'application/json': { ...json, ...shown } };
  if (metaOf(route).raw !== 'multipart') return { required, ...body, content };
  const form = { schema: formOf(route), example: formExample(example ?? {}) };
  return { required, ...body, content: { ...content, 'multipart/form-data': form } };
}

function formExample(example: object): object {
  const fields = Object.entries(example).filter(([name]) => !SOURCES.has(name));
  return { ...Object.fromEntries(fields), file: '(the bytes of the file)' };
}

/** The same as a form: the text fields, and a file instead of the media source fields. */
function formOf(route: Route): Json {
  const schema = jsonSchemaOf((route as { body?: unknown }).body, 'input');
  const fields = Object.entries((schema?.properties ?? {}) as Json).filter(([name]) => !SOURCES.has(name));
  const needed = (schema?.required ?? []) as string[];
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(fields),
      file: { type: 'string', format: 'binary', description: 'The file' },
    },
    required: [...needed.filter((name) => !SOURCES.has(name)), 'file'],
  };
}

const SOURCES = new Set(['media_url', 'media_id', 'media_base64']);

function responses(given: Record<string, Json>, route: Route, name: string): Json {
  const meta = metaOf(route);
  const codes = errorsOf(route);
  const whole = meta.ranges ? { ...given, 416: RANGE_BEYOND } : given;
  return Object.fromEntries(
    Object.entries(whole).map(([status, response]) => {
      const headers = headersOf(Number(status), route);
      if (Number(status) < 400) {
        const content = shownContent(response.content as Record<string, Json> | undefined, route, {
          name,
          status,
        });
        const others = (meta.produces ?? []).map((type) => [type, { schema: BYTES }]);
        return [
          status,
          {
            description: SUCCESS[status] ?? status,
            headers,
            ...(content ? { content: { ...content, ...Object.fromEntries(others) } } : {}),
          },
        ];
      }
      const named = codes.filter((code) =>
        (meta.statuses?.[code] ?? [errorCatalogue[code].status]).map(String).includes(status),
      );
      const content = errorContent(response, named);
      // A body with the route's own shape (`/ready`) has no code.
      if (!content) return [status, { ...response, description: STATUS_CODES[status], headers }];
      return [status, { description: describeCodes(named), headers, content }];
    }),
  );
}

const RANGE_BEYOND: Json = { description: '' };
const BYTES = { type: 'string', format: 'binary' };

/** The content of a success with an example; binary content has none. */
function shownContent(
  content: Record<string, Json> | undefined,
  route: Route,
  { name, status }: { name: string; status: string },
): Json | undefined {
  if (!content) return undefined;
  return Object.fromEntries(
    Object.entries(content).map(([type, media]) => {
      const schema = jsonSchemaOf(route.responses[Number(status)], 'output', name);
      if (type === 'application/json')
        return [type, { ...media, ...(schema ? { example: exampleOf(schema, name) } : {}) }];
      if (metaOf(route).raw === 'binary') return [type, { schema: BYTES }];
      return [type, { ...media, example: textAnswers[name] }];
    }),
  );
}

function describeCodes(codes: readonly (keyof typeof errorCatalogue)[]): string {
  return codes.map((code) => `\`${code}\`: ${errorCatalogue[code].message}`).join('\n\n');
}

const ENVELOPES = ['#/components/schemas/Error', '#/components/schemas/BillingError'];

/** The envelope with the codes of this status; null if the body is not the envelope. */
function errorContent({ content }: Json, codes: readonly string[]): Json | null {
  const json = (content as Record<string, { schema: Json }> | undefined)?.['application/json'];
  if (!json || !ENVELOPES.includes(String(json.schema.$ref))) return null;
  return {
    'application/json': {
      schema: {
        allOf: [
          json.schema,
          {
            type: 'object',
            properties: {
              error_code: { type: 'string', enum: codes, description: 'The code of this error' },
            },
          },
        ],
      },
    },
  };
}

function headersOf(status: number, route: Route): Json {
  const meta = metaOf(route);
  return {
    'X-Trace-ID': ref('headers/TraceId'),
    ...(meta.auth === 'none' || status === 401 || status === 101
      ? {}
      : {
          'X-RateLimit-Limit': ref('headers/RateLimitLimit'),
          'X-RateLimit-Remaining': ref('headers/RateLimitRemaining'),
          'X-RateLimit-Reset': ref('headers/RateLimitReset'),
        }),
    ...(status === 429 || status === 503 ? { 'Retry-After': ref('headers/RetryAfter') } : {}),
    ...(status === 202 && meta.operation ? { 'Idempotent-Replayed': ref('headers/IdempotentReplayed') } : {}),
    ...(route.path === '/v1/auth/login' && status === 200
      ? { 'Set-Cookie': ref('headers/SessionCookies') }
      : {}),
  };
}

function ref(path: string): Json {
  return { $ref: `#/components/${path}` };
}
