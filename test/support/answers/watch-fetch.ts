/** An answer of one of our servers to a fetch of this process. */
export interface SeenAnswer {
  method: string;
  path: string;
  status: number;
  /** The header Content-Type; empty for none. */
  type: string;
  /** The header Retry-After; empty for none. */
  retryAfter: string;
  /**
   * The parsed JSON, or the text of a body that is not JSON. Undefined when the body has another type, is empty, was
   * cut, or is larger than any answer.
   */
  body?: unknown;
}

const BODY_MAX_BYTES = 8 * 1024 * 1024;
const TRACE_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Reports every answer that `fetch` gets in this process from a server of ours. The caller gets its answer after the
 * report, with an untouched body: streams and files are never read here.
 */
export function watchFetch(tell: (answer: SeenAnswer) => void | Promise<void>): void {
  const fetchPlainly = globalThis.fetch;
  globalThis.fetch = async function fetch(input, init) {
    const response = await fetchPlainly(input, init);
    // After a redirect it would be another request's answer.
    const isOurs = areOurs((name) => response.headers.get(name));
    if (!isOurs || response.redirected) return response;
    const isRequest = typeof input === 'object' && 'method' in input;
    await tell({
      method: (init?.method ?? (isRequest ? input.method : 'GET')).toUpperCase(),
      path: new URL(response.url).pathname,
      status: response.status,
      type: response.headers.get('content-type') ?? '',
      retryAfter: response.headers.get('retry-after') ?? '',
      body: await jsonOf(response),
    });
    return response;
  };
}

/** Every answer of ours has both headers, and no server that a test makes up has them. */
export function areOurs(headerOf: (name: string) => string | null | undefined): boolean {
  return TRACE_ID.test(headerOf('x-trace-id') ?? '') && headerOf('x-content-type-options') === 'nosniff';
}

async function jsonOf(response: Response): Promise<unknown> {
  if (!response.headers.get('content-type')?.startsWith('application/json')) return undefined;
  const text = await textOf(response).catch(() => '');
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The empty text for a body that is too large. Rejects when the body is cut. */
async function textOf(response: Response): Promise<string> {
  const reader = response.clone().body?.getReader();
  if (!reader) return '';
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks).toString();
    sizeBytes += value.length;
    chunks.push(value);
    if (sizeBytes > BODY_MAX_BYTES) {
      // Not waited for: it ends when the caller has read its own copy.
      reader.cancel().catch(() => undefined);
      return '';
    }
  }
}
