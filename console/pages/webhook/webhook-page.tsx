import { Group, Stack, Title } from '@mantine/core';
import { Navigate, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useMayManage } from '../../api/api-context.ts';
import { Shown } from '../../api/shown.tsx';
import { Page } from '../../components/page.tsx';
import { Deliveries } from './deliveries.tsx';
import { DeliveryDrawer } from './delivery-drawer.tsx';
import { Metrics } from './metrics.tsx';
import { ReplayFailed } from './replay-failed.tsx';
import { useWebhook } from './use-webhook.ts';
import { WebhookDetails } from './webhook-details.tsx';

export function WebhookPage() {
  const { t } = useTranslation();
  const { webhookId } = useParams({ from: '/signed-in/shell/webhooks/$webhookId' });
  const { event } = useSearch({ from: '/signed-in/shell/webhooks/$webhookId' });
  const navigate = useNavigate();
  const { webhook, ...parts } = useWebhook(
    webhookId,
    () => void navigate({ to: '/webhooks', replace: true }),
  );
  if (!useMayManage()) return <Navigate to="/messages" replace />;
  return (
    <Page title={webhook.data?.url ?? t('webhooks.title')}>
      <Shown query={webhook}>
        {(data) => (
          <Stack gap="lg">
            <WebhookDetails {...parts} webhook={data} />
            <Metrics webhookId={webhookId} />
            <Group justify="space-between">
              <Title order={2} size="h5">
                {t('webhooks.deliveries')}
              </Title>
              <ReplayFailed webhookId={webhookId} />
            </Group>
            <Deliveries webhookId={webhookId} />
            {event && <DeliveryDrawer key={event} webhookId={webhookId} eventId={event} />}
          </Stack>
        )}
      </Shown>
    </Page>
  );
}
