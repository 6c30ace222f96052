import type { Webhook } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { StateBadge } from '../../components/state-badge.tsx';

export function WebhookState({ webhook: { enabled, disabled_reason: reason } }: { webhook: Webhook }) {
  const { t } = useTranslation();
  if (enabled) return <StateBadge tone="good" label={t('webhooks.enabled')} />;
  return (
    <StateBadge
      tone={reason ? 'bad' : 'idle'}
      label={reason ? t('webhooks.disabledReason', { reason }) : t('webhooks.disabled')}
    />
  );
}
