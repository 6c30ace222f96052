import type { InstanceState } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { StateBadge, type Tone } from '../components/state-badge.tsx';

export const INSTANCE_TONES: Readonly<Record<InstanceState, Tone>> = {
  CREATED: 'idle',
  PAIRING: 'busy',
  CONNECTED: 'good',
  DISCONNECTED: 'idle',
  HARD_PAUSED: 'warn',
  BANNED: 'bad',
};

export function InstanceStateBadge({ state }: { state: InstanceState }) {
  const { t } = useTranslation();
  return <StateBadge tone={INSTANCE_TONES[state]} label={t(`instances.states.${state}`)} />;
}
