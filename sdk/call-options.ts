import type { UploadProgress } from './upload-progress.ts';

/** Options of one call, which override those of the client. */
export interface CallOptions {
  /**
   * Aborts the call, which then rejects with the signal's reason; a send rejects with AbortedError, which has the
   * reason as its cause and carries the key.
   */
  signal?: AbortSignal | undefined;
  /**
   * How long one attempt may take, including the body of its answer, and each piece of a body that the caller reads
   * itself.
   */
  timeoutMs?: number | undefined;
  /** Limit for all attempts together, including the waits between them. */
  deadlineMs?: number | undefined;
  /** Tries after the first one, for requests that may be repeated. */
  retries?: number | undefined;
  /** Called with the answer's status and headers, e.g. X-RateLimit-Remaining or Idempotent-Replayed. */
  onResponse?: (response: { status: number; headers: Headers }) => void;
  /** Called with the progress of a file's upload, which starts again at zero when an attempt is repeated. */
  onUploadProgress?: (progress: UploadProgress) => void;
}

/** A call under way: a promise of the answer's body, or of the body together with its response. */
export interface Call<T> extends Promise<T> {
  /** The body and the response that it came in, whose own body has been read. */
  withResponse(): Promise<{ data: T; response: Response }>;
}
