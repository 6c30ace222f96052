import type { CallOptions } from '@posthorn/sdk/index.ts';

/** How long a request without a file may take. */
const ANSWER_MS = 30_000;
/**
 * Less than the service takes (`TRANSFER_MIN_BYTES_PER_SECOND`, 16 KiB by default), also of a file in base64: the service
 * decides what is too slow.
 */
const BYTES_PER_SECOND = 12 * 1024;

/** The time that a request with a file may take, by its size: that of other requests would end a large upload half-way. */
export function timeFor(file: File | null): CallOptions {
  return file ? { timeoutMs: ANSWER_MS + Math.ceil((1_000 * file.size) / BYTES_PER_SECOND) } : {};
}
