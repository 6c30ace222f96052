import { AbortedError, ConnectionError, errorOfAnswer, PosthornError, TimeoutError } from './error.ts';
import { withLeash } from './read-body.ts';
import { fetchWithProgress, type UploadProgress } from './upload-progress.ts';
import { createLeash, type Leash } from './wait.ts';

export interface HttpRequest {
  method: string;
  url: string;
  headers: Headers;
  body: string | Blob | FormData | undefined;
}

export interface AttemptDeps {
  /** If undefined, each call looks up the global fetch, so that a later replacement of it is used too. */
  fetch: typeof globalThis.fetch | undefined;
}

export type AnswerKind = 'json' | 'text' | 'none' | 'response' | 'stream';

export interface AttemptOptions {
  /** Limit for the whole attempt, including the body of its answer. */
  timeoutMs: number;
  /** The longest wait for each piece of a body that the caller reads itself. */
  silenceMs: number;
  signal: AbortSignal | undefined;
  answer: AnswerKind;
  /** Lets the browser send and keep the session's cookies. */
  withCookies?: boolean | undefined;
  onUploadProgress?: ((progress: UploadProgress) => void) | undefined;
}

export interface Attempted {
  response: Response;
  /** Parsed JSON, text, or undefined: 204, and whatever was left unread. */
  body: unknown;
  /** Not yet released for `response` and `stream`, whose bodies are read later. */
  leash: Leash;
}

/**
 * Makes one request and returns its answer. Throws PosthornError for every answer outside 2xx and for every connection
 * fault, and the reason of `signal` when the caller aborted.
 */
export async function attempt(
  deps: AttemptDeps,
  request: HttpRequest,
  options: AttemptOptions,
): Promise<Attempted> {
  const leash = createLeash(options.timeoutMs, options.signal);
  let isHeld = false;
  try {
    const response = await ask(deps, request, options, leash.signal);
    if (!response.ok) {
      // If the body breaks off, the status alone still makes an error.
      const text = await response.text().catch(() => '');
      if (options.signal?.aborted) throw options.signal.reason;
      // Browsers hide the target and the status of a redirect.
      if (response.type === 'opaqueredirect') throw errorOfAnswer(302, response.headers, '');
      throw errorOfAnswer(response.status, response.headers, text);
    }
    if (options.answer === 'response' || options.answer === 'stream') {
      isHeld = true;
      leash.rearm(null);
      const isStream = options.answer === 'stream';
      const held = isStream ? response : withLeash(response, leash, options.silenceMs);
      return { response: held, body: undefined, leash };
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

function ask(
  deps: AttemptDeps,
  request: HttpRequest,
  options: AttemptOptions,
  signal: AbortSignal,
): Promise<Response> {
  const init: RequestInit = {
    method: request.method,
    headers: request.headers,
    body: request.body,
    // Following a redirect would send the key to its target: fetch drops Authorization there, but not X-API-Key.
    redirect: 'manual',
    signal,
  };
  // A browser would add cookies to calls that carry other credentials. Other platforms keep no cookies, and some refuse
  // the field.
  if (isBrowser()) init.credentials = options.withCookies ? 'include' : 'omit';
  const { onUploadProgress } = options;
  if (onUploadProgress && request.body instanceof Blob) {
    return fetchWithProgress(deps.fetch, request.url, { ...init, body: request.body }, onUploadProgress);
  }
  // Called as plain functions, because browsers refuse to run fetch as a method of another object.
  const { fetch } = deps;
  return fetch ? fetch(request.url, init) : globalThis.fetch(request.url, init);
}

export function isBrowser(): boolean {
  const { document, importScripts } = globalThis as { document?: unknown; importScripts?: unknown };
  return document !== undefined || typeof importScripts === 'function';
}

function readBody(response: Response, text: string, answer: 'json' | 'text' | 'none'): unknown {
  if (answer === 'none' || [204, 205].includes(response.status)) return undefined;
  if (answer === 'text') return text;
  try {
    return JSON.parse(text);
  } catch (cause) {
    const type = response.headers.get('content-type') ?? '';
    // Without a length, only the failed parse shows that the body was cut.
    if (/^application\/json\b/.test(type)) throw cutBody(response, cause);
    throw badResponse(response, 'is not JSON');
  }
}

function cutBody(response: Response, cause: unknown): PosthornError {
  return new ConnectionError({
    code: 'NETWORK',
    status: 0,
    message: 'the answer broke off',
    traceId: response.headers.get('x-trace-id'),
    cause,
  });
}

/** The error of a 2xx answer that the service cannot have sent: from a captive portal, a proxy or a wrong base URL. */
export function badResponse(response: Response, what: string): PosthornError {
  const type = response.headers.get('content-type')?.split(';')[0] ?? 'no content type';
  return new PosthornError({
    code: 'BAD_RESPONSE',
    status: response.status,
    message: `the answer (${type}) ${what}: is this the address of the service?`,
    traceId: response.headers.get('x-trace-id'),
  });
}

/** The error of a send that its caller aborted when it may already have gone out. */
export function abortedError(reason: unknown): PosthornError {
  const message = 'aborted, but the service may have done it all the same';
  return new AbortedError({ code: 'ABORTED', status: 0, message, cause: reason });
}

function timeoutError(request: HttpRequest, timeoutMs: number): PosthornError {
  return new TimeoutError({
    code: 'TIMEOUT',
    status: 0,
    message: `no answer from ${originOf(request)} within ${timeoutMs} ms`,
  });
}

/** Names the origin only: paths hold phone numbers and ids. */
function networkError(request: HttpRequest, cause: unknown): PosthornError {
  return new ConnectionError({
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
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS, try http://',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
};

/** The error of fetch says only "fetch failed"; the reason is in its cause, or in the first of several causes. */
function causeOf(error: unknown): string {
  let at: unknown = error;
  for (let depth = 0; depth < 5 && at instanceof Error; depth++) {
    const code = (at as { code?: unknown }).code;
    if (typeof code === 'string') return CAUSES[code] ? `${CAUSES[code]} (${code})` : code;
    at = at instanceof AggregateError ? at.errors[0] : at.cause;
  }
  return error instanceof Error ? error.message : 'unknown';
}
