import { ApiError } from '@posthorn/contract/api-error.ts';
import type { ErrorCode } from '@posthorn/contract/errors.ts';

export function isApiErrorOf(err: unknown, code: ErrorCode): err is ApiError {
  return err instanceof ApiError && err.code === code;
}
