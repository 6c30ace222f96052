import { type Attempted, attempt, type HttpRequest } from './attempt.ts';
import type { CallOptions } from './call-options.ts';
import {
  type EncodedBody,
  encodeQuery,
  joinUrl,
  normalizeBaseUrl,
  type QueryValue,
} from './encode-request.ts';
import { PosthornError } from './error.ts';
import { isTransient, retryDelayMs } from './retry.ts';
import { sleep } from './wait.ts';

export interface TransportOptions {
  /** e.g. `http://127.0.0.1:8080`; a path in it is kept in front. */
  baseUrl: string;
  /** Sent as X-API-Key. Not together with `token`. */
  apiKey?: string | undefined;
  /** A JWT from login, or a function that gives the current one; sent as a Bearer token. */
  token?: string | (() => string | Promise<string>) | undefined;
  /** In place of the global fetch: a proxy, instrumentation. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Of one attempt. Default 30 s, above the 15 s that synchronous actions may take. */
  timeoutMs?: number | undefined;
  /** Of all attempts. Default three times `timeoutMs`. */
  deadlineMs?: number | undefined;
  /** Tries after the first one. Default 2. */
  retries?: number | undefined;
}

export interface TransportRequest {
  method: string;
  /** From the base on, parameters filled in. */
  path: string;
  query?: Readonly<Record<string, QueryValue>> | undefined;
  body?: EncodedBody | undefined;
  headers?: Readonly<Record<string, string | undefined>> | undefined;
  answer: 'json' | 'text' | 'response' | 'stream';
  /** Sending it twice does what sending it once does. */
  isRepeatable: boolean;
}

export interface Transport {
  send(request: TransportRequest, options?: CallOptions): Promise<Attempted>;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_RETRIES = 2;
const ACCEPT = { json: 'application/json', text: 'text/*', response: '*/*', stream: 'text/event-stream' };

export function createTransport(settings: TransportOptions): Transport {
  const baseUrl = normalizeBaseUrl(settings.baseUrl);
  if (settings.apiKey !== undefined && settings.token !== undefined) {
    throw new TypeError('give either apiKey or token');
  }
  const fetch = settings.fetch ?? globalThis.fetch;

  async function send(request: TransportRequest, options: CallOptions = {}): Promise<Attempted> {
    const timeoutMs = options.timeoutMs ?? settings.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const deadlineMs = options.deadlineMs ?? settings.deadlineMs ?? 3 * timeoutMs;
    const retries = request.isRepeatable ? (options.retries ?? settings.retries ?? DEFAULT_RETRIES) : 0;
    const endsAtMs = performance.now() + deadlineMs;
    for (let retry = 0; ; retry++) {
      const leftMs = Math.max(1, endsAtMs - performance.now());
      try {
        options.signal?.throwIfAborted();
        const attempted = await attempt({ fetch }, await toHttp(request), {
          timeoutMs: Math.round(Math.min(timeoutMs, leftMs)),
          signal: options.signal,
          answer: request.answer,
        });
        options.onResponse?.({ status: attempted.response.status, headers: attempted.response.headers });
        return attempted;
      } catch (error) {
        if (retry >= retries || !isTransient(error)) throw error;
        const waitMs = retryDelayMs(retry, error);
        // Waiting past the deadline would only make the same failure later.
        if (performance.now() + waitMs >= endsAtMs) throw error;
        await sleep(waitMs, options.signal);
      }
    }
  }

  async function toHttp(request: TransportRequest): Promise<HttpRequest> {
    const headers = new Headers({ accept: ACCEPT[request.answer] });
    const set = (name: string, value: string | undefined) => {
      if (value === undefined) return;
      // Headers would name the value in its message, and the value may be a key.
      if (!/^[\x20-\x7e]*$/.test(value)) throw new TypeError(`${name} must be printable ASCII`);
      headers.set(name, value);
    };
    if (settings.apiKey !== undefined) set('x-api-key', settings.apiKey);
    const token = typeof settings.token === 'function' ? await settings.token() : settings.token;
    if (token !== undefined) set('authorization', `Bearer ${token}`);
    set('content-type', request.body?.contentType);
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

/** True for errors after which a live connection should not come back by itself. */
export function isFatal(error: unknown): boolean {
  return !(error instanceof PosthornError) || !isTransient(error);
}
