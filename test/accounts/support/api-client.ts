import assert from 'node:assert/strict';

export interface ApiAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  body: any;
  headers: Headers;
  /** `Set-Cookie` values by the cookie's name. */
  setCookies: Record<string, string>;
  /** The text of the body. */
  text: string;
}

export interface ApiRequest {
  body?: unknown;
  /** The body, sent exactly as written here. */
  rawBody?: string;
  jwt?: string | undefined;
  key?: string | undefined;
  cookies?: Record<string, string>;
  csrf?: string;
  headers?: Record<string, string>;
}

export type Api = (method: string, path: string, request?: ApiRequest) => Promise<ApiAnswer>;

/** Makes one request over real HTTP; redirects are returned, not followed. */
export function createApi(baseUrl: string): Api {
  return async (method, path, request = {}) => {
    const headers: Record<string, string> = { ...request.headers };
    const body = request.rawBody ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
    if (body !== undefined) headers['content-type'] ??= 'application/json';
    if (request.jwt !== undefined) headers.authorization = `Bearer ${request.jwt}`;
    if (request.key !== undefined) headers['x-api-key'] = request.key;
    if (request.csrf !== undefined) headers['x-csrf-token'] = request.csrf;
    const cookies = Object.entries(request.cookies ?? {});
    if (cookies.length > 0) headers.cookie = cookies.map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(`${baseUrl}${path}`, { method, headers, body, redirect: 'manual' });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: response.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : null,
      setCookies: Object.fromEntries(
        response.headers.getSetCookie().map((cookie) => [cookie.slice(0, cookie.indexOf('=')), cookie]),
      ),
    };
  };
}

/** The value of a `Set-Cookie` line. */
export function cookieValue(setCookie: string | undefined): string {
  assert.ok(setCookie, 'the cookie was not set');
  return setCookie.slice(setCookie.indexOf('=') + 1, setCookie.indexOf(';'));
}

/** The cookies of an answer as a browser would send them back. */
export function cookiesOf(answer: ApiAnswer): Record<string, string> {
  return Object.fromEntries(
    Object.entries(answer.setCookies).map(([name, setCookie]) => [name, cookieValue(setCookie)]),
  );
}

/** Asserts a refusal: its status, its code and the whole envelope of ERR-2. */
export function refused(answer: ApiAnswer, status: number, code: string): void {
  assert.equal(answer.body?.error_code, code, answer.text);
  assert.equal(answer.status, status);
  assert.equal(typeof answer.body.message, 'string');
  assert.equal(answer.body.error, answer.body.message);
  assert.match(answer.body.trace_id, /^[0-9a-f-]{36}$/);
  assert.equal(answer.headers.get('x-trace-id'), answer.body.trace_id);
}
