import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';

/** Why an instance in this state takes no sends; null when it does (SND-10). */
export function instanceRefusal(state: string): ApiError | null {
  if (state === 'CONNECTED') return null;
  if (state === 'BANNED') return apiError('INSTANCE_BANNED');
  if (state === 'HARD_PAUSED') return apiError('INSTANCE_HARD_PAUSED');
  return apiError('INSTANCE_NOT_CONNECTED');
}
