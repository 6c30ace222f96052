import { errorOfAnswer, PosthornError } from './error.ts';
import { createLeash, type Leash } from './wait.ts';

export interface HttpRequest {
  method: string;
  url: string;
  headers: Headers;
  body: string | FormData | undefined;
}

export interface AttemptDeps {
  fetch: typeof globalThis.fetch;
}

export interface AttemptOptions {
  /** Of the whole attempt, the answer's body included. */
  timeoutMs: number;
  signal: AbortSignal | undefined;
  answer: 'json' | 'text' | 'response' | 'stream';
}

export interface Attempted {
  response: Response;
  /** Parsed JSON, text, or undefined: 204, and whatever was left unread. */
  body: unknown;
  /** Still held for `response` and `stream`, whose bodies are read later. */
  leash: Leash;
}

/**
 * One request, one answer. Throws PosthornError for every answer outside 2xx and for every fault on the
 * way, and the reason of `signal` when the caller called it off.
 */
export async function attempt(
  deps: AttemptDeps,
  request: HttpRequest,
  options: AttemptOptions,
): Promise<Attempted> {
  const leash = createLeash(options.timeoutMs, options.signal);
  let isHeld = false;
  try {
    const response = await deps.fetch(request.url, {
      method: request.method,
      headers: request.headers,
      body: request.body,
      // Following one would hand the key to wherever it points: fetch drops Authorization there, not X-API-Key.
      redirect: 'manual',
      signal: leash.signal,
    });
    if (!response.ok) throw errorOfAnswer(response.status, response.headers, await response.text());
    if (options.answer === 'response' || options.answer === 'stream') {
      isHeld = true;
      leash.rearm(null);
      return { response, body: undefined, leash };
    }
    const text = await response.text();
    return { response, body: readBody(response, text, options.answer), leash };
  } catch (error) {
    if (error instanceof PosthornError) throw error;
    if (options.signal?.aborted) throw options.signal.reason;
    throw leash.timedOut() ? timeoutError(request, options.timeoutMs) : networkError(request, error);
  } finally {
    if (!isHeld) leash.release();
  }
}

function readBody(response: Response, text: string, answer: 'json' | 'text'): unknown {
  if (response.status === 204 || response.status === 205) return undefined;
  if (answer === 'text') return text;
  try {
    return JSON.parse(text);
  } catch {
    throw badResponse(response, 'is not JSON');
  }
}

/** A success that the service cannot have sent: a captive portal, a proxy's page, a wrong base URL. */
export function badResponse(response: Response, what: string): PosthornError {
  const type = response.headers.get('content-type')?.split(';')[0] ?? 'no content type';
  return new PosthornError({
    code: 'BAD_RESPONSE',
    status: response.status,
    message: `the answer (${type}) ${what}: is this the address of the service?`,
    traceId: response.headers.get('x-trace-id'),
  });
}

function timeoutError(request: HttpRequest, timeoutMs: number): PosthornError {
  return new PosthornError({
    code: 'TIMEOUT',
    status: 0,
    message: `no answer from ${originOf(request)} within ${timeoutMs} ms`,
  });
}

/** Names the origin only: paths hold phone numbers and ids. */
export function networkError(request: HttpRequest, cause: unknown): PosthornError {
  return new PosthornError({
    code: 'NETWORK',
    status: 0,
    message: `cannot reach ${originOf(request)}: ${causeOf(cause)}`,
    cause,
  });
}

function originOf(request: HttpRequest): string {
  return new URL(request.url).origin;
}

const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  ENOTFOUND: 'the name is not known',
  EAI_AGAIN: 'the name cannot be looked up',
  EHOSTUNREACH: 'the host is unreachable',
  ENETUNREACH: 'the network is unreachable',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  UND_ERR_SOCKET: 'the connection was closed',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
};

/** fetch says only "fetch failed"; what happened is in its cause, or in the first of several. */
function causeOf(error: unknown): string {
  let at: unknown = error;
  for (let depth = 0; depth < 5 && at instanceof Error; depth++) {
    const code = (at as { code?: unknown }).code;
    if (typeof code === 'string') return CAUSES[code] ? `${CAUSES[code]} (${code})` : code;
    at = at instanceof AggregateError ? at.errors[0] : at.cause;
  }
  return error instanceof Error ? error.message : 'unknown fault';
}
