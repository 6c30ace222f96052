import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import type { ErrorCode } from '@posthorn/contract/errors.ts';

/** The error for a mail that the budget of its mailbox does not allow (core/mail/mail-budget.ts). */
export function mailboxFull(refused: { retryAfterS: number }, code: ErrorCode = 'RATE_LIMITED'): ApiError {
  return apiError(code, {
    message: 'too many mails were sent to this address, try again later',
    headers: { 'retry-after': String(refused.retryAfterS) },
  });
}
