/** Uploads that report their progress, which fetch does not. */

export interface UploadProgress {
  /** Bytes of the request's body, which is a little larger than the file. */
  sentBytes: number;
  totalBytes: number;
}

type Init = RequestInit & { body: Blob };

/**
 * Works like fetch. In a browser it uses XMLHttpRequest, since a stream as a body needs HTTP/2 there; elsewhere it
 * counts the body as fetch reads it.
 */
export function fetchWithProgress(
  fetch: typeof globalThis.fetch | undefined,
  url: string,
  init: Init,
  onProgress: (progress: UploadProgress) => void,
): Promise<Response> {
  const Xhr = (globalThis as { XMLHttpRequest?: new () => Xhr }).XMLHttpRequest;
  if (Xhr && !fetch) return sendXhr(new Xhr(), url, init, onProgress);
  const totalBytes = init.body.size;
  let sentBytes = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      sentBytes += chunk.byteLength;
      controller.enqueue(chunk);
      onProgress({ sentBytes, totalBytes });
    },
  });
  const headers = new Headers(init.headers);
  headers.set('content-length', String(totalBytes));
  const counted = {
    ...init,
    headers,
    body: init.body.stream().pipeThrough(counter),
    duplex: 'half',
  } as RequestInit;
  return fetch ? fetch(url, counted) : globalThis.fetch(url, counted);
}

/** The part of XMLHttpRequest that we use: programs for Node.js do not load the browser's types. */
interface Xhr {
  upload: { onprogress: ((event: { loaded: number; total: number }) => void) | null };
  responseType: string;
  response: Blob;
  status: number;
  onload: (() => void) | null;
  onerror: (() => void) | null;
  onabort: (() => void) | null;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getAllResponseHeaders(): string;
  send(body: Blob): void;
  abort(): void;
}

function sendXhr(
  xhr: Xhr,
  url: string,
  init: Init,
  onProgress: (progress: UploadProgress) => void,
): Promise<Response> {
  const { signal } = init;
  return new Promise<Response>((resolve, reject) => {
    const abort = () => xhr.abort();
    const settle = (finish: () => void) => () => {
      signal?.removeEventListener('abort', abort);
      finish();
    };
    xhr.open(init.method ?? 'POST', url);
    new Headers(init.headers).forEach((value, name) => {
      xhr.setRequestHeader(name, value);
    });
    xhr.responseType = 'blob';
    xhr.upload.onprogress = ({ loaded, total }) => onProgress({ sentBytes: loaded, totalBytes: total });
    xhr.onload = settle(() => {
      const isEmpty = [204, 205, 304].includes(xhr.status);
      resolve(
        new Response(isEmpty ? null : xhr.response, {
          status: xhr.status,
          headers: readHeaders(xhr.getAllResponseHeaders()),
        }),
      );
    });
    xhr.onerror = settle(() => reject(new TypeError('the request failed')));
    xhr.onabort = settle(() => reject(signal?.reason));
    if (signal?.aborted) return reject(signal.reason);
    signal?.addEventListener('abort', abort, { once: true });
    xhr.send(init.body);
  });
}

function readHeaders(text: string): Headers {
  const headers = new Headers();
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return headers;
}
