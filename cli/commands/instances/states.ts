import type { Instance, InstanceState } from '@posthorn/sdk/index.ts';
import { pageOf } from '../../format.ts';

export const INSTANCE_STATES: readonly InstanceState[] = [
  'CREATED',
  'PAIRING',
  'CONNECTED',
  'DISCONNECTED',
  'HARD_PAUSED',
  'BANNED',
];

export function instancePage(found: {
  data: Instance[];
  total: number;
  page: number;
  limit: number;
}): string {
  return pageOf(found, ['id', 'name', 'state', 'phone', 'created_at'], 'no instances');
}
