import type { UploadProgress } from './upload-progress.ts';

/** Of one call, over what the client was made with. */
export interface CallOptions {
  /**
   * Calls it off. The call then rejects with the signal's reason; a send rejects with AbortedError, which has the
   * reason as its cause and carries the key.
   */
  signal?: AbortSignal | undefined;
  /** How long one attempt may take, its answer's body included, and each piece of a body that is handed over unread. */
  timeoutMs?: number | undefined;
  /** Of all attempts together with the waits between them. */
  deadlineMs?: number | undefined;
  /** Tries after the first one, for requests that may be repeated. */
  retries?: number | undefined;
  /** Shows the answer's status and headers, e.g. X-RateLimit-Remaining or Idempotent-Replayed. */
  onResponse?: (response: { status: number; headers: Headers }) => void;
  /** Tells how far the upload of a file is; it begins anew when an attempt is repeated. */
  onUploadProgress?: (progress: UploadProgress) => void;
}

/** A call under way: a promise of the answer's body, or of the body together with its response. */
export interface Call<T> extends Promise<T> {
  /** The body and the response that it came in, whose own body has been read. */
  withResponse(): Promise<{ data: T; response: Response }>;
}
