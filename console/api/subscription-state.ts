import type { SubscriptionStatus } from '@posthorn/sdk/index.ts';
import type { Tone } from '../components/state-badge.tsx';

export const SUBSCRIPTION_TONES: Readonly<Record<SubscriptionStatus, Tone>> = {
  trialing: 'busy',
  active: 'good',
  past_due: 'warn',
  suspended: 'bad',
  cancelled: 'idle',
  expired: 'bad',
};
