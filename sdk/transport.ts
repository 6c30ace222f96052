import {
  type AnswerKind,
  type Attempted,
  abortedError,
  attempt,
  type HttpRequest,
  isBrowser,
} from './attempt.ts';
import type { CallOptions } from './call-options.ts';
import {
  type EncodedBody,
  encodeQuery,
  joinUrl,
  normalizeBaseUrl,
  type QueryValue,
} from './encode-request.ts';
import { PosthornError } from './error.ts';
import { type LogFields, type Logger, redactHeaders } from './logger.ts';
import { isOutcomeUnknown, isRefusedForNow, isTransient, retryDelayMs } from './retry.ts';
import type { TokenSource } from './token-source.ts';
import { VERSION } from './version.ts';
import { createLeash, orAborted, sleep } from './wait.ts';

export interface TransportOptions {
  /** e.g. `http://127.0.0.1:8080`; a path in it comes before those of the routes. */
  baseUrl: string;
  /** Sent as X-API-Key. Not together with `token` or `session`. */
  apiKey?: string | undefined;
  /** A JWT from login, or a function that gives the current one; sent as a Bearer token. */
  token?: string | (() => string | Promise<string>) | undefined;
  /** A login that renews itself: `createSession`. */
  session?: TokenSource | undefined;
  /** Used in place of the global fetch, e.g. for a proxy or instrumentation. */
  fetch?: typeof globalThis.fetch | undefined;
  /**
   * How long one attempt may take, and each piece of a body that the caller reads itself. Default 30 s, above the 15 s
   * that synchronous actions may take.
   */
  timeoutMs?: number | undefined;
  /** Limit for all attempts together. Default three times `timeoutMs`. */
  deadlineMs?: number | undefined;
  /** Tries after the first one. Default 2. */
  retries?: number | undefined;
  /** Logs every attempt, without secrets and bodies. `console` is a logger. */
  logger?: Logger | undefined;
  /**
   * Headers for every request, e.g. for a gateway in front of the service. Those that the client sets itself override
   * them.
   */
  headers?: Readonly<Record<string, string | undefined>> | undefined;
  /** Prefix of the User-Agent, e.g. `my-app/1.2`. Browsers send their own. */
  userAgent?: string | undefined;
}

export interface TransportRequest {
  method: string;
  /** The path below the base URL, with its parameters filled in. */
  path: string;
  /** The path for logs, without the values of its parameters. */
  route: string;
  query?: Readonly<Record<string, QueryValue>> | undefined;
  body?: EncodedBody | undefined;
  headers?: Readonly<Record<string, string | undefined>> | undefined;
  answer: AnswerKind;
  /** Whether sending it twice has the same effect as sending it once. */
  isRepeatable: boolean;
  /** The key that makes repeating the request harmless; errors carry it. */
  idempotencyKey?: string | undefined;
  /** Lets a browser send and keep the session's cookies. */
  withCookies?: boolean | undefined;
}

export interface Transport {
  send(request: TransportRequest, options?: CallOptions): Promise<Attempted>;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_RETRIES = 2;
const ACCEPT = {
  json: 'application/json',
  none: 'application/json',
  text: 'text/*',
  response: '*/*',
  stream: 'text/event-stream',
};
/** Codes of 401 after which a renewed JWT may succeed. */
const RENEWED: readonly string[] = ['TOKEN_EXPIRED', 'TOKEN_INVALID'];

// long: the settings of a client, and what its calls share of them.
export function createTransport(settings: TransportOptions): Transport {
  const baseUrl = normalizeBaseUrl(settings.baseUrl);
  if ([settings.apiKey, settings.token, settings.session].filter((given) => given !== undefined).length > 1) {
    throw new TypeError('give either apiKey, token or session');
  }
  checkNumbers(settings);
  const always = Object.entries(settings.headers ?? {});
  // With one key for every send, all of them would count as one.
  if (always.some(([name]) => name.toLowerCase() === 'idempotency-key'))
    throw new TypeError('headers must not have an Idempotency-Key: each send has its own');
  const { fetch, logger, session } = settings;
  const userAgent = isBrowser() ? undefined : userAgentOf(settings.userAgent);

  // long: the attempts of one call decide by what the ones before them left: keys, tokens, unknown outcomes.
  async function send(request: TransportRequest, options: CallOptions = {}): Promise<Attempted> {
    checkNumbers(options);
    const timeoutMs = options.timeoutMs ?? settings.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const deadlineMs = options.deadlineMs ?? settings.deadlineMs ?? 3 * timeoutMs;
    const retries = options.retries ?? settings.retries ?? DEFAULT_RETRIES;
    const endsAtMs = performance.now() + deadlineMs;
    let attempts = 0;
    let hasRenewed = false;
    let isUnknown = false;
    for (let retry = 0; ; ) {
      const leftMs = Math.max(1, endsAtMs - performance.now());
      const startedMs = performance.now();
      const log = (level: 'debug' | 'warn', message: string, more: Partial<LogFields>) =>
        logger?.[level](message, { method: request.method, path: request.route, attempt: attempts, ...more });
      let token: string | undefined;
      let wasSent = false;
      let attempted: Attempted;
      try {
        options.signal?.throwIfAborted();
        token = await orAborted(tokenOf(), options.signal);
        const http = toHttp(request, token);
        attempts += 1;
        wasSent = true;
        log('debug', 'request', { headers: logger && redactHeaders(http.headers) });
        attempted = await attempt({ fetch }, http, {
          timeoutMs: Math.round(Math.min(timeoutMs, leftMs)),
          silenceMs: timeoutMs,
          signal: options.signal,
          answer: request.answer,
          withCookies: request.withCookies,
          onUploadProgress: options.onUploadProgress,
        });
      } catch (error) {
        if (!(error instanceof PosthornError)) throw unexpected(error);
        const { code, status, traceId } = error;
        const durationMs = Math.round(performance.now() - startedMs);
        if (
          wasSent &&
          token !== undefined &&
          session &&
          status === 401 &&
          RENEWED.includes(code) &&
          !hasRenewed
        ) {
          log('debug', 'renewing the token', { status, code, durationMs, traceId });
          hasRenewed = true;
          await renew(session, token);
          continue;
        }
        // An earlier attempt deleted it, and its answer was lost.
        if (isUnknown && request.method === 'DELETE' && request.answer === 'none' && status === 404) {
          return deleted();
        }
        isUnknown ||= wasSent && isOutcomeUnknown(error);
        const mayRepeat = isTransient(error) && (request.isRepeatable || isRefusedForNow(error));
        const waitMs = mayRepeat && retry < retries ? retryDelayMs(retry, error) : Number.POSITIVE_INFINITY;
        // Waiting past the deadline would only delay the same failure.
        if (performance.now() + waitMs >= endsAtMs) {
          log('warn', 'failed', { status, code, durationMs, traceId });
          throw complete(error);
        }
        log('warn', 'trying again', { status, code, durationMs, traceId, waitMs: Math.round(waitMs) });
        retry += 1;
        await sleep(waitMs, options.signal).catch((reason) => {
          throw unexpected(reason);
        });
        continue;
      }
      // Outside of the try, so that an error thrown by the caller's function does not repeat a request that succeeded.
      const { status, headers } = attempted.response;
      const durationMs = Math.round(performance.now() - startedMs);
      log('debug', 'response', { status, durationMs, traceId: headers.get('x-trace-id') });
      options.onResponse?.({ status, headers });
      return attempted;
    }

    function complete(error: PosthornError): PosthornError {
      return Object.assign(error, { attempts, idempotencyKey: request.idempotencyKey ?? null });
    }

    /**
     * The error for the reason of the caller's signal, or for a fault of the token source; that of a send that went out
     * has its key.
     */
    function unexpected(reason: unknown): unknown {
      if (request.idempotencyKey === undefined || attempts === 0) return reason;
      if (options.signal?.aborted) return complete(abortedError(reason));
      const message = 'no credentials for another attempt';
      return complete(new PosthornError({ code: 'NO_CREDENTIALS', status: 0, message, cause: reason }));
    }

    async function renew(source: TokenSource, rejected: string): Promise<void> {
      await orAborted(source.renew(rejected), options.signal).catch((reason: unknown) => {
        throw reason instanceof PosthornError ? complete(reason) : unexpected(reason);
      });
    }
  }

  async function tokenOf(): Promise<string | undefined> {
    if (session) return session.token();
    return typeof settings.token === 'function' ? settings.token() : settings.token;
  }

  function toHttp(request: TransportRequest, token: string | undefined): HttpRequest {
    const headers = new Headers();
    const set = (name: string, value: string | undefined) => {
      if (value === undefined) return;
      // The error of Headers would quote the value, which may be a key.
      if (!/^[\x20-\x7e]*$/.test(value)) throw new TypeError(`${name} must be printable ASCII`);
      headers.set(name, value);
    };
    for (const [name, value] of always) set(name, value);
    set('accept', ACCEPT[request.answer]);
    set('user-agent', userAgent);
    set('x-api-key', settings.apiKey);
    if (token !== undefined) set('authorization', `Bearer ${token}`);
    set('content-type', request.body?.contentType);
    set('idempotency-key', request.idempotencyKey);
    for (const [name, value] of Object.entries(request.headers ?? {})) set(name, value);
    return {
      method: request.method,
      url: joinUrl(baseUrl, request.path) + encodeQuery(request.query),
      headers,
      body: request.body?.body,
    };
  }

  return { send };
}

/** A limit that is no number, as `Number('30s')`, would be no limit: no time is ever past it. */
function checkNumbers({ timeoutMs, deadlineMs, retries }: CallOptions): void {
  for (const [name, value] of Object.entries({ timeoutMs, deadlineMs, retries }))
    if (typeof (value ?? 0) !== 'number' || Number.isNaN(value))
      throw new TypeError(`${name} must be a number`);
}

function deleted(): Attempted {
  const leash = createLeash(null, undefined);
  return { response: new Response(null, { status: 204 }), body: undefined, leash };
}

/** e.g. `posthorn-sdk/1.2.3 (node/24.1.0)`. */
function userAgentOf(prefix: string | undefined): string {
  const { process } = globalThis as { process?: { versions?: Record<string, string> } };
  const { bun, deno, node } = process?.versions ?? {};
  const platform = bun ? `bun/${bun}` : deno ? `deno/${deno}` : node ? `node/${node}` : 'web';
  return `${prefix ? `${prefix} ` : ''}posthorn-sdk/${VERSION} (${platform})`;
}
