import type { Call, CallOptions } from './call-options.ts';
import type {
  BillingMethods,
  ContractMethods,
  EventPattern,
  Message,
  MessageStatus,
} from './contract-types.ts';
import { encodeBody, fillPath, type QueryValue } from './encode-request.ts';
import { withEnvironment } from './environment.ts';
import type { EventsMatching, StreamedEvent } from './event-types.ts';
import { randomId } from './random-id.ts';
import type { RouteSpec, RouteTable } from './route-spec.ts';
import { billingRoutes, messagingRoutes } from './routes.ts';
import { type StreamOptions, streamEvents } from './stream-events.ts';
import { createTransport, type Transport, type TransportOptions } from './transport.ts';
import { type WaitForInput, type WaitForOptions, waitForMessage } from './wait-for-message.ts';

/**
 * Without `baseUrl`, the address comes from POSTHORN_URL in the environment, and without credentials the key from
 * POSTHORN_API_KEY.
 */
export type ClientOptions = Omit<TransportOptions, 'baseUrl'> & {
  /** e.g. `http://127.0.0.1:8080`; a path in it comes before those of the routes. */
  baseUrl?: string | undefined;
};

/** A request that no method covers. */
export interface RawRequest {
  /** Default GET. */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path below the base URL, e.g. `/v1/instances`. */
  path: string;
  query?: Readonly<Record<string, QueryValue>>;
  /** Sent as JSON; as multipart/form-data when it is a FormData or one of its fields is a Blob. */
  body?: Readonly<Record<string, unknown>> | FormData;
  headers?: Readonly<Record<string, string | undefined>>;
  /** `response` returns the answer with its body unread. Default `json`. */
  answer?: 'json' | 'text' | 'response';
  /** Whether it may be tried again. Default: a GET, PUT or DELETE, or with the header Idempotency-Key. */
  isRepeatable?: boolean;
}

export type Client = Omit<ContractMethods, 'events' | 'messages'> & {
  events: ContractMethods['events'] & {
    /**
     * Live events, narrowed to those that `types` names: {@link streamEvents}.
     *
     * @example
     * for await (const event of client.events.stream({ types: ['message.received'] })) console.log(event.data.content);
     */
    stream<const P extends EventPattern = '*'>(
      options?: StreamOptions<P>,
    ): AsyncGenerator<StreamedEvent<EventsMatching<P>>, void, undefined>;
  };
  messages: ContractMethods['messages'] & {
    /**
     * Waits until the message has reached `state`, and returns it: {@link waitForMessage}.
     *
     * @example
     * await client.messages.waitFor({ instanceId, messageId: sent.message_id }, 'delivered');
     */
    waitFor(
      input: WaitForInput,
      state: Exclude<MessageStatus, 'failed' | 'received'>,
      options?: WaitForOptions,
    ): Promise<Message>;
  };
} & RawRequests;

export type BillingClient = BillingMethods & RawRequests;

interface RawRequests {
  /** Any request, with the client's credentials, errors, timeouts and retries. */
  request<T = unknown>(request: RawRequest, options?: CallOptions): Call<T>;
}

/**
 * The client of one messaging service. Every method returns the body of a success and throws PosthornError for
 * everything else. Throws TypeError for options that cannot work. `createClient()` takes the address and the key from
 * POSTHORN_URL and POSTHORN_API_KEY.
 *
 * @example
 * const client = createClient({ baseUrl: 'http://127.0.0.1:8080', apiKey: process.env.POSTHORN_API_KEY });
 * await client.messages.sendText({ instanceId, body: { to: '+5511999990000', text: 'Hello' } });
 */
export function createClient(options?: ClientOptions): Client {
  const transport = createTransport(withEnvironment(options, 'createClient', 'POSTHORN_URL'));
  const methods = methodsOf(messagingRoutes, transport) as unknown as ContractMethods;
  return {
    ...methods,
    events: {
      ...methods.events,
      stream: <P extends EventPattern>(stream: StreamOptions<P> = {}) =>
        streamEvents<P>({ transport }, stream),
    },
    messages: {
      ...methods.messages,
      waitFor: (input, state, wait) =>
        waitForMessage({ get: methods.messages.get, transport }, input, state, wait),
    },
    ...rawRequests(transport),
  };
}

/**
 * The client of one billing service; its credentials are those of the messaging service. Without `baseUrl` the
 * address is POSTHORN_BILLING_URL.
 */
export function createBillingClient(options?: ClientOptions): BillingClient {
  const transport = createTransport(withEnvironment(options, 'createBillingClient', 'POSTHORN_BILLING_URL'));
  return {
    ...(methodsOf(billingRoutes, transport) as unknown as BillingMethods),
    ...rawRequests(transport),
  };
}

function rawRequests(transport: Transport): RawRequests {
  return {
    request: <T>(request: RawRequest, options?: CallOptions) =>
      callOf<T>(sendRaw(transport, request, options)),
  };
}

interface CallInput {
  [param: string]: unknown;
  query?: Record<string, QueryValue>;
  body?: unknown;
  idempotencyKey?: string;
  force?: boolean;
}

type AnyMethod = (input?: CallInput, options?: CallOptions) => Call<unknown>;
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
    at[leaf] = (input = {}, options = {}) => callOf(call(transport, spec, input, options));
  }
  return root;
}

interface Answered {
  data: unknown;
  response: Response;
}

/** A caller of `withResponse` gets a second promise, so a rejection of the first one may stay unhandled. */
function callOf<T>(answered: Promise<Answered>): Call<T> {
  const promise = answered.then(({ data }) => data as T);
  const withResponse = () => {
    promise.catch(() => undefined);
    return answered as Promise<{ data: T; response: Response }>;
  };
  return Object.assign(promise, { withResponse });
}

async function call(
  transport: Transport,
  spec: RouteSpec,
  input: CallInput,
  options: CallOptions,
): Promise<Answered> {
  const { body, response } = await transport.send(
    {
      method: spec.method,
      path: fillPath(spec.path, input),
      route: spec.path,
      query: input.query,
      body: await encodeBody(spec.body, input.body, options.signal),
      headers: { 'x-force-send': spec.keyed && input.force ? 'true' : undefined },
      answer: spec.answer,
      // One key for all attempts makes it harmless to repeat a send.
      idempotencyKey: spec.keyed ? (input.idempotencyKey ?? randomId()) : undefined,
      isRepeatable: spec.keyed || isIdempotent(spec.method),
    },
    options,
  );
  return { data: spec.answer === 'response' ? response : body, response };
}

/** True for the methods that HTTP calls idempotent. */
function isIdempotent(method: string): boolean {
  return ['GET', 'PUT', 'DELETE'].includes(method);
}

async function sendRaw(transport: Transport, request: RawRequest, options?: CallOptions): Promise<Answered> {
  const { method = 'GET', path, query, answer = 'json' } = request;
  const headers = Object.entries(request.headers ?? {});
  const isKey = ([name]: [string, unknown]) => name.toLowerCase() === 'idempotency-key';
  const key = headers.find(isKey)?.[1];
  const sent = await transport.send(
    {
      method,
      path,
      // Only the first parts of the path: later ones may be ids, and a query may hold anything.
      route: path.split(/[/?#]/, 3).join('/'),
      query,
      body: await encodeBody(request.body === undefined ? 'none' : 'json', request.body),
      headers: Object.fromEntries(headers.filter((header) => !isKey(header))),
      answer,
      idempotencyKey: key,
      isRepeatable: request.isRepeatable ?? (isIdempotent(method) || key !== undefined),
    },
    options,
  );
  return { data: answer === 'response' ? sent.response : sent.body, response: sent.response };
}
