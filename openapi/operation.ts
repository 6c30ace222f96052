/** What ts-rest cannot know of an operation: credentials, headers, codes, content that is not JSON. */
import { STATUS_CODES } from 'node:http';
import { errorCatalogue } from '@posthorn/contract/errors.ts';
import type { NamedRoute } from '@posthorn/contract/list-routes.ts';
import {
  errorsOf,
  metaOf,
  type RouteAccess,
  type RouteAuth,
  takesBody,
} from '@posthorn/contract/route-meta.ts';
import { type Json, jsonSchemaOf } from './json-schema.ts';

type Route = NamedRoute['route'];

const SECURITY: Record<RouteAuth, Json[]> = {
  none: [],
  jwt: [{ bearer: [] }],
  any: [{ bearer: [] }, { apiKey: [] }],
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
  204: 'Done, no body',
  302: 'Found',
};

/** Completes the operation that ts-rest made of a route. */
export function completeOperation(operation: Json, route: Route): Json {
  const meta = metaOf(route);
  return {
    ...operation,
    description: [meta.description, ROLES[meta.access], ...verification(meta.requiresVerifiedEmail)]
      .filter(Boolean)
      .join('\n\n'),
    security:
      SECURITY[meta.auth].length > 0 && meta.ticket
        ? [...SECURITY[meta.auth], { ticket: [] }]
        : SECURITY[meta.auth],
    parameters: [...withoutTicket(operation.parameters as Json[]), ...headerParameters(route)],
    ...(operation.requestBody ? { requestBody: requestBody(operation.requestBody as Json, route) } : {}),
    responses: responses(operation.responses as Record<string, Json>, route),
  };
}

function verification(required: true | undefined): string[] {
  return required ? ['Needs a verified e-mail.'] : [];
}

/** The ticket is a credential: it stands under `security`. */
function withoutTicket(parameters: Json[]): Json[] {
  return parameters.filter(({ name }) => name !== 'ticket');
}

function headerParameters(route: Route): Json[] {
  const meta = metaOf(route);
  if (meta.operation) return [ref('parameters/IdempotencyKey'), ref('parameters/ForceSend')];
  if (meta.raw === 'sse') return [ref('parameters/LastEventId')];
  return [];
}

function requestBody({ description: _, ...body }: Json, route: Route): Json {
  // A body whose fields are all optional may be left out.
  const schema =
    takesBody(route) && 'body' in route
      ? (route.body as { safeParse(v: unknown): { success: boolean } })
      : null;
  const required = !schema?.safeParse({}).success;
  if (metaOf(route).raw !== 'multipart') return { required, ...body };
  const content = body.content as Record<string, { schema: Json }>;
  return { required, ...body, content: { ...content, 'multipart/form-data': { schema: formOf(route) } } };
}

/** The same as a form: the text fields, and a file in place of the fields that name media. */
function formOf(route: Route): Json {
  const schema = jsonSchemaOf((route as { body?: unknown }).body, 'input');
  const fields = Object.entries((schema?.properties ?? {}) as Json).filter(([name]) => !SOURCES.has(name));
  const needed = (schema?.required ?? []) as string[];
  return {
    type: 'object',
    properties: { ...Object.fromEntries(fields), file: { type: 'string', format: 'binary' } },
    required: [...needed.filter((name) => !SOURCES.has(name)), 'file'],
  };
}

const SOURCES = new Set(['media_url', 'media_id', 'media_base64']);

function responses(given: Record<string, Json>, route: Route): Json {
  const meta = metaOf(route);
  const codes = errorsOf(route);
  return Object.fromEntries(
    Object.entries(given).map(([status, response]) => {
      const headers = headersOf(Number(status), route);
      if (Number(status) < 400) {
        const content = response.content as Json | undefined;
        const others = (meta.produces ?? []).map((type) => [
          type,
          { schema: { type: 'string', format: 'binary' } },
        ]);
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
      // A body of the route's own (`/ready`) carries no code.
      if (!content) return [status, { ...response, description: STATUS_CODES[status], headers }];
      return [status, { description: describeCodes(named), headers, content }];
    }),
  );
}

function describeCodes(codes: readonly (keyof typeof errorCatalogue)[]): string {
  return codes.map((code) => `\`${code}\`: ${errorCatalogue[code].message}`).join('\n\n');
}

const ENVELOPES = ['#/components/schemas/Error', '#/components/schemas/BillingError'];

/** The envelope with the codes of this status; null when the body is not the envelope. */
function errorContent({ content }: Json, codes: readonly string[]): Json | null {
  const json = (content as Record<string, { schema: Json }>)['application/json'];
  if (!json || !ENVELOPES.includes(String(json.schema.$ref))) return null;
  return {
    'application/json': {
      schema: {
        allOf: [json.schema, { type: 'object', properties: { error_code: { type: 'string', enum: codes } } }],
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
