import { randomUUID } from 'node:crypto';
import type { CallOptions } from './call-options.ts';
import type { BillingMethods, ContractMethods } from './contract-types.ts';
import { encodeBody, fillPath, type QueryValue } from './encode-request.ts';
import type { StreamedEvent } from './event-types.ts';
import type { RouteSpec, RouteTable } from './route-spec.ts';
import { billingRoutes, messagingRoutes } from './routes.ts';
import { type StreamOptions, streamEvents } from './stream-events.ts';
import { createTransport, type Transport, type TransportOptions } from './transport.ts';

export type ClientOptions = TransportOptions;

/** A request that no method covers. */
export interface RawRequest {
  /** Default GET. */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** From the base URL on, e.g. `/v1/instances`. */
  path: string;
  query?: Readonly<Record<string, QueryValue>>;
  /** Sent as JSON; as multipart/form-data when it is a FormData or one of its fields is a Blob. */
  body?: Readonly<Record<string, unknown>> | FormData;
  headers?: Readonly<Record<string, string | undefined>>;
  /** `response` hands the answer on unread. Default `json`. */
  answer?: 'json' | 'text' | 'response';
  /** Whether it may be tried again. Default: a GET, or with the header Idempotency-Key. */
  isRepeatable?: boolean;
}

export type Client = Omit<ContractMethods, 'events'> & {
  events: ContractMethods['events'] & {
    /** Live events: {@link streamEvents}. */
    stream(options?: StreamOptions): AsyncGenerator<StreamedEvent, void, undefined>;
  };
} & RawRequests;

export type BillingClient = BillingMethods & RawRequests;

interface RawRequests {
  /** Any request, with the client's credentials, errors, timeouts and retries. */
  request<T = unknown>(request: RawRequest, options?: CallOptions): Promise<T>;
}

/**
 * The client of one messaging service. Every method answers the body of the success and throws
 * PosthornError for everything else. Throws TypeError for options that cannot work.
 *
 * @example
 * const client = createClient({ baseUrl: 'http://127.0.0.1:8080', apiKey: process.env.POSTHORN_API_KEY });
 * await client.messages.sendText({ instanceId, body: { to: '+5511999990000', text: 'Hello' } });
 */
export function createClient(options: ClientOptions): Client {
  const transport = createTransport(options);
  const methods = methodsOf(messagingRoutes, transport) as unknown as ContractMethods;
  return {
    ...methods,
    events: { ...methods.events, stream: (stream = {}) => streamEvents({ transport }, stream) },
    ...rawRequests(transport),
  };
}

/** The client of one billing service; its credentials are those of the messaging service. */
export function createBillingClient(options: ClientOptions): BillingClient {
  const transport = createTransport(options);
  return {
    ...(methodsOf(billingRoutes, transport) as unknown as BillingMethods),
    ...rawRequests(transport),
  };
}

function rawRequests(transport: Transport): RawRequests {
  return {
    request: <T>(request: RawRequest, options?: CallOptions) =>
      sendRaw(transport, request, options) as Promise<T>,
  };
}

interface CallInput {
  [param: string]: unknown;
  query?: Record<string, QueryValue>;
  body?: unknown;
  idempotencyKey?: string;
  force?: boolean;
}

type AnyMethod = (input?: CallInput, options?: CallOptions) => Promise<unknown>;
interface MethodTree {
  [name: string]: AnyMethod | MethodTree;
}

function methodsOf(table: RouteTable, transport: Transport): MethodTree {
  const root: MethodTree = {};
  for (const [name, spec] of Object.entries(table)) {
    const groups = name.split('.');
    const leaf = groups.pop() as string;
    let at = root;
    for (const group of groups) {
      at[group] ??= {};
      at = at[group] as MethodTree;
    }
    at[leaf] = (input = {}, options = {}) => call(transport, spec, input, options);
  }
  return root;
}

async function call(
  transport: Transport,
  spec: RouteSpec,
  input: CallInput,
  options: CallOptions,
): Promise<unknown> {
  // One key for all attempts: that is what makes repeating a send harmless.
  const key = spec.keyed ? (input.idempotencyKey ?? randomUUID()) : undefined;
  const { body, response } = await transport.send(
    {
      method: spec.method,
      path: fillPath(spec.path, input),
      query: input.query,
      body: encodeBody(spec.body, input.body),
      headers: { 'idempotency-key': key, 'x-force-send': spec.keyed && input.force ? 'true' : undefined },
      answer: spec.answer,
      isRepeatable: spec.keyed || spec.method === 'GET',
    },
    options,
  );
  return spec.answer === 'response' ? response : body;
}

async function sendRaw(transport: Transport, request: RawRequest, options?: CallOptions): Promise<unknown> {
  const { method = 'GET', path, query, headers = {}, answer = 'json' } = request;
  const hasKey = Object.keys(headers).some((name) => name.toLowerCase() === 'idempotency-key');
  const sent = await transport.send(
    {
      method,
      path,
      query,
      body: encodeBody(request.body === undefined ? 'none' : 'json', request.body),
      headers,
      answer,
      isRepeatable: request.isRepeatable ?? (method === 'GET' || hasKey),
    },
    options,
  );
  return answer === 'response' ? sent.response : sent.body;
}
