/** Turns each form in which a program may hold a file into a Blob, which can be sent again when an attempt fails. */

/**
 * A Buffer, Uint8Array, ArrayBuffer or Blob; the path of a file (Node.js, Deno, Bun); or a stream, which is read into
 * memory first, 64 MB at most.
 */
export type FileSource =
  | Blob
  | Uint8Array
  | ArrayBuffer
  | string
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>;

export interface NamedBlob {
  blob: Blob;
  name: string;
}

/** The largest file that the service takes. Without a limit, an endless stream would fill the memory. */
const STREAM_MAX_BYTES = 64 * 1024 * 1024;

/** Throws TypeError for anything that is no {@link FileSource}. */
export async function blobOf(file: unknown): Promise<NamedBlob> {
  if (isBlob(file)) return { blob: file, name: (file as { name?: string }).name || 'file' };
  if (file instanceof ArrayBuffer || ArrayBuffer.isView(file)) {
    return { blob: new Blob([file as Uint8Array<ArrayBuffer>]), name: 'file' };
  }
  if (typeof file === 'string' && file !== '') return openPath(file);
  const stream = streamOf(file);
  if (stream) return { blob: await collect(stream), name: nameOfStream(file) };
  throw new TypeError('file must be bytes, a Blob, a path or a stream');
}

/** Checks the methods, because a Blob of another realm is no instance of this realm's class. */
export function isBlob(value: unknown): value is Blob {
  const blob = value as Partial<Blob> | null | undefined;
  return typeof blob?.slice === 'function' && typeof blob.stream === 'function';
}

type Files = Pick<typeof import('node:fs'), 'createReadStream' | 'openAsBlob' | 'statSync'>;

async function openPath(path: string): Promise<NamedBlob> {
  // An import would make bundlers for browsers look for this module of Node.js.
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => Files | undefined } };
  const files = process?.getBuiltinModule?.('node:fs');
  if (!files) throw new TypeError('file is a path, but this platform has no file system: give a Blob');
  // `statSync` says why a file cannot be opened; `openAsBlob` only says that it cannot.
  const isFile = files.statSync(path).isFile();
  // A pipe, as of `<(command)`, has no size and would count as empty. A folder would fail during the upload, which
  // looks like a network fault.
  const blob = isFile ? await files.openAsBlob(path) : await collect(files.createReadStream(path));
  return { blob, name: baseName(path) };
}

type Stream = ReadableStream<Uint8Array> | AsyncIterable<unknown>;

function streamOf(file: unknown): Stream | null {
  if (typeof file !== 'object' || file === null) return null;
  return Symbol.asyncIterator in file || 'getReader' in file ? (file as Stream) : null;
}

async function collect(stream: Stream): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let sizeBytes = 0;
  for await (const chunk of Symbol.asyncIterator in stream ? stream : read(stream)) {
    if (!(chunk instanceof Uint8Array)) throw new TypeError('file is no stream of bytes');
    sizeBytes += chunk.byteLength;
    if (sizeBytes > STREAM_MAX_BYTES) throw new TypeError('file is a stream above 64 MB');
    // Copied, because some streams reuse the memory for the next piece.
    parts.push(chunk.slice() as Uint8Array<ArrayBuffer>);
  }
  return new Blob(parts);
}

/** For browsers whose streams cannot be iterated. */
async function* read(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

/** `fs.createReadStream` knows its path. */
function nameOfStream(stream: unknown): string {
  const { path } = stream as { path?: unknown };
  return typeof path === 'string' ? baseName(path) : 'file';
}

function baseName(path: string): string {
  return path.split(/[\\/]/).at(-1) || 'file';
}
