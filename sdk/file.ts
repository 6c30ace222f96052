/** Turns each form in which a program may hold a file into a Blob, which can be sent again when an attempt fails. */
import { orAborted } from './wait.ts';

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

/** Throws TypeError for anything that is no {@link FileSource}, and the reason of `signal` when it fires first. */
export async function blobOf(file: unknown, signal?: AbortSignal): Promise<NamedBlob> {
  if (isBlob(file)) return { blob: file, name: (file as { name?: string }).name || 'file' };
  if (file instanceof ArrayBuffer || ArrayBuffer.isView(file)) {
    return { blob: new Blob([file as Uint8Array<ArrayBuffer>]), name: 'file' };
  }
  if (typeof file === 'string' && file !== '') return openPath(file, signal);
  const stream = streamOf(file);
  if (stream) return { blob: await collect(stream, signal), name: nameOfStream(file) };
  throw new TypeError('file must be bytes, a Blob, a path or a stream');
}

/** Checks the methods, because a Blob of another realm is no instance of this realm's class. */
export function isBlob(value: unknown): value is Blob {
  const blob = value as Partial<Blob> | null | undefined;
  return typeof blob?.slice === 'function' && typeof blob.stream === 'function';
}

type Files = Pick<typeof import('node:fs'), 'createReadStream' | 'openAsBlob' | 'statSync'>;

async function openPath(path: string, signal: AbortSignal | undefined): Promise<NamedBlob> {
  // An import would make bundlers for browsers look for this module of Node.js.
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => Files | undefined } };
  const files = process?.getBuiltinModule?.('node:fs');
  if (!files) throw new TypeError('file is a path, but this platform has no file system: give a Blob');
  // `statSync` says why a file cannot be opened; `openAsBlob` only says that it cannot.
  const isFile = files.statSync(path).isFile();
  // A pipe, as of `<(command)`, has no size and would count as empty. A folder would fail during the upload, which
  // looks like a network fault.
  const blob = isFile ? await files.openAsBlob(path) : await collect(files.createReadStream(path), signal);
  return { blob, name: baseName(path) };
}

type Stream = ReadableStream<Uint8Array> | AsyncIterable<unknown>;

function streamOf(file: unknown): Stream | null {
  if (typeof file !== 'object' || file === null) return null;
  return Symbol.asyncIterator in file || 'getReader' in file ? (file as Stream) : null;
}

async function collect(stream: Stream, signal: AbortSignal | undefined): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let sizeBytes = 0;
  const pieces = piecesOf(stream);
  try {
    for (;;) {
      const { done, value: piece } = await orAborted(pieces.next(), signal);
      if (done) return new Blob(parts);
      if (!(piece instanceof Uint8Array)) throw new TypeError('file is no stream of bytes');
      sizeBytes += piece.byteLength;
      if (sizeBytes > STREAM_MAX_BYTES) throw new TypeError('file is a stream above 64 MB');
      // Copied, because some streams reuse the memory for the next piece.
      parts.push(piece.slice() as Uint8Array<ArrayBuffer>);
    }
  } catch (error) {
    pieces.close(error);
    throw error;
  }
}

interface Pieces {
  next(): Promise<{ done?: boolean | undefined; value?: unknown }>;
  /** Closes the source. Does not wait, because a source that has stalled may never answer. */
  close(reason: unknown): void;
}

/** Read by hand: `for await` cannot be left while a piece is awaited, and some browsers cannot iterate a stream. */
function piecesOf(stream: Stream): Pieces {
  if ('getReader' in stream) {
    const reader = stream.getReader();
    return {
      next: () => reader.read(),
      close: (reason) => void reader.cancel(reason).catch(() => undefined),
    };
  }
  const iterator = stream[Symbol.asyncIterator]();
  return {
    next: () => iterator.next(),
    close() {
      // A stream of Node.js: its iterator closes it only after the awaited piece.
      (stream as { destroy?: () => void }).destroy?.();
      void iterator.return?.().catch(() => undefined);
    },
  };
}

/** `fs.createReadStream` knows its path. */
function nameOfStream(stream: unknown): string {
  const { path } = stream as { path?: unknown };
  return typeof path === 'string' ? baseName(path) : 'file';
}

function baseName(path: string): string {
  return path.split(/[\\/]/).at(-1) || 'file';
}
