import { SimpleGrid, Stack } from '@mantine/core';
import type { CompanyUsage } from '@posthorn/sdk/index.ts';
import { Navigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useMayManage } from '../../api/api-context.ts';
import { Shown } from '../../api/shown.tsx';
import { useUsage } from '../../api/use-usage.ts';
import { Page } from '../../components/page.tsx';
import { FirstSteps } from './first-steps.tsx';
import { InstancesByState } from './instances-by-state.tsx';
import { MessagesByHour } from './messages-by-hour.tsx';
import { PlanUsage } from './plan-usage.tsx';
import { WebhookSuccess } from './webhook-success.tsx';

/** The first page of owners and admins: first steps, then figures. Agents begin at the chats. */
export function HomePage() {
  const { t } = useTranslation();
  const usage = useUsage();
  if (!useMayManage()) return <Navigate to="/chats" replace />;
  return (
    <Page title={t('home.title')}>
      <Shown query={usage}>{(data) => <Overview usage={data} />}</Shown>
    </Page>
  );
}

function Overview({ usage }: { usage: CompanyUsage }) {
  return (
    <Stack gap="md">
      <FirstSteps usage={usage} />
      {usage.instances.length > 0 && (
        <>
          <MessagesByHour hours={usage.hours} />
          <SimpleGrid cols={{ base: 1, md: 3 }}>
            <InstancesByState instances={usage.instances} />
            <WebhookSuccess />
            <PlanUsage plan={usage.plan} />
          </SimpleGrid>
        </>
      )}
    </Stack>
  );
}
