import { Alert, Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useMayManage } from '../api/api-context.ts';
import { TextLink } from '../components/links.tsx';
import { useSubscription } from '../pages/billing/use-billing.ts';

/** States in which the company must act, or the service stops. */
const TOLD = ['past_due', 'suspended', 'expired'] as const;

/** Says on every page what the subscription lacks, and nothing if billing cannot be reached. */
export function SubscriptionBanner() {
  const { t } = useTranslation();
  const mayManage = useMayManage();
  const { data } = useSubscription({ enabled: mayManage });
  const state = TOLD.find((name) => name === data?.status);
  if (!state) return null;
  return (
    <Alert color={state === 'past_due' ? 'orange' : 'red'} variant="outline" mb="md" role="status">
      <Group justify="space-between">
        <Text size="sm">{t(`billing.banners.${state}`)}</Text>
        <TextLink to="/billing">{t('billing.title')}</TextLink>
      </Group>
    </Alert>
  );
}
