import type { DeliveryLog } from '@posthorn/sdk/index.ts';
import type { TFunction } from 'i18next';
import type { Tone } from '../components/state-badge.tsx';

type Outcome = Pick<DeliveryLog, 'success' | 'status_code' | 'error_class'>;

/** The outcome of an attempt: the status of the answer, or why there was none. */
export function outcomeOf(
  t: TFunction,
  { success, status_code: status, error_class: reason }: Outcome,
): string {
  const answered = status === 0 ? t('webhooks.noAnswer') : String(status);
  if (success) return answered;
  const key = `webhooks.classes.${reason}` as 'webhooks.classes.timeout';
  const why = t(key, { defaultValue: reason });
  return why ? `${answered}, ${why}` : answered;
}

export function attemptTone({ success }: Outcome): Tone {
  return success ? 'good' : 'bad';
}
