/** How the parts of a call become a URL and a body. */
import { blobOf, isBlob } from './file.ts';
import { randomId } from './random-id.ts';

export type QueryValue = string | number | boolean | null | undefined | readonly QueryValue[];

/**
 * Fills in the parameters of a path such as `/v1/webhooks/:webhookId`; each value stays one segment, whatever it holds.
 */
export function fillPath(path: string, params: Readonly<Record<string, unknown>>): string {
  return path.replace(/:([A-Za-z]\w*)/g, (_, name: string) => {
    const value = params[name];
    const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
    if (text === '') throw new TypeError(`${name} is required`);
    // Encoding leaves `.` and `..` as they are, and URL parsers resolve them as steps of a path, `%2e` too.
    if (text === '.' || text === '..') throw new TypeError(`${name} is not valid`);
    return encodeURIComponent(text);
  });
}

/** Lists as repeated names (`types=a&types=b`); undefined and null are left out. */
export function encodeQuery(query: Readonly<Record<string, QueryValue>> | undefined): string {
  const search = new URLSearchParams();
  const add = (name: string, value: QueryValue): void => {
    if (value === undefined || value === null) return;
    if (Array.isArray(value)) for (const item of value) add(name, item);
    else search.append(name, String(value));
  };
  for (const [name, value] of Object.entries(query ?? {})) add(name, value);
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

export interface EncodedBody {
  body: string | Blob | FormData | undefined;
  /** Absent for a FormData: fetch writes the boundary. */
  contentType: string | undefined;
}

/**
 * JSON, or a form when a field is a file. `media` is a body whose field `file` takes more than a Blob.
 * Form fields are written as they are: strings unquoted, a list as repeated fields.
 */
export async function encodeBody(
  kind: 'json' | 'media' | 'none',
  body: unknown,
  signal?: AbortSignal,
): Promise<EncodedBody> {
  if (body instanceof FormData) return { body, contentType: undefined };
  if (kind === 'none' && body === undefined) return { body: undefined, contentType: undefined };
  const fields = (body ?? {}) as Record<string, unknown>;
  const hasFile = kind === 'media' && fields.file !== undefined;
  if (!hasFile && !Object.values(fields).some(isBlob)) {
    return { body: JSON.stringify(fields), contentType: 'application/json' };
  }
  const form = createForm();
  for (const [name, value] of Object.entries(fields)) {
    if (hasFile && name === 'file') {
      const { blob, name: fileName } = await blobOf(value, signal);
      await form.addFile(name, blob, fileName);
      continue;
    }
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item === undefined || item === null) continue;
      if (isBlob(item)) await form.addFile(name, item, (item as { name?: string }).name || 'file');
      else form.add(name, typeof item === 'object' ? JSON.stringify(item) : String(item));
    }
  }
  return form.end();
}

/**
 * A multipart form as one Blob: its length is known, it can be sent again, and its progress counted, none of
 * which holds for a FormData everywhere.
 */
function createForm() {
  const boundary = `posthorn-${randomId()}`;
  const parts: (string | Blob | ArrayBuffer)[] = [];
  const head = (name: string, more: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${escapeName(name)}"${more}\r\n\r\n`;
  return {
    add(name: string, value: string) {
      parts.push(head(name, ''), value, '\r\n');
    },
    async addFile(name: string, blob: Blob, fileName: string) {
      const type = `\r\ncontent-type: ${blob.type || 'application/octet-stream'}`;
      // In Bun, a Blob leaves out those of its parts that are files on disk.
      const whole = new Blob(['', blob]).size ? blob : await blob.arrayBuffer();
      parts.push(head(name, `; filename="${escapeName(fileName)}"${type}`), whole, '\r\n');
    },
    end(): EncodedBody {
      const contentType = `multipart/form-data; boundary=${boundary}`;
      return { body: new Blob([...parts, `--${boundary}--\r\n`]), contentType };
    },
  };
}

/** Escapes characters that would end the line or the quotes, as browsers do. */
function escapeName(name: string): string {
  return name.replace(/["\r\n]/g, encodeURIComponent);
}

/** Appends the path to the base URL, which may have a path of its own. */
export function joinUrl(baseUrl: string, path: string): string {
  return `${baseUrl}${path.startsWith('/') ? '' : '/'}${path}`;
}

/** Throws TypeError for anything but an http or https URL without user, password, query and fragment. */
export function normalizeBaseUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new TypeError('baseUrl must be an http or https URL');
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError('baseUrl has more than an origin and a path');
  }
  const { pathname } = url;
  // A loop, because `/\/+$/` takes quadratic time on many slashes that other characters follow.
  let end = pathname.length;
  while (pathname[end - 1] === '/') end -= 1;
  return url.origin + pathname.slice(0, end);
}
