/** Of one call, over what the client was made with. */
export interface CallOptions {
  /** Calls it off; the call then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Of one attempt, the answer's body included. */
  timeoutMs?: number | undefined;
  /** Of all attempts together with the waits between them. */
  deadlineMs?: number | undefined;
  /** Tries after the first one, for requests that may be repeated. */
  retries?: number | undefined;
  /** Shows the answer's status and headers, e.g. X-RateLimit-Remaining or Idempotent-Replayed. */
  onResponse?: (response: { status: number; headers: Headers }) => void;
}
