import { apiError } from '@posthorn/contract/api-error.ts';
import type { Storage } from '../platform/storage/storage.ts';

/** Throws ApiError 503 SERVICE_UNAVAILABLE when there is none (MED-17). */
export function requireStorage({ storage }: { storage: Storage | null }): Storage {
  if (storage === null) {
    throw apiError('SERVICE_UNAVAILABLE', {
      message: 'media storage not configured',
      headers: { 'retry-after': '60' },
    });
  }
  return storage;
}
