import { Paper, Stack, Tabs } from '@mantine/core';
import { Navigate, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useMayManage } from '../../api/api-context.ts';
import { InstanceStateBadge } from '../../api/instance-state.tsx';
import { OFFICIAL } from '../../api/official.ts';
import { Shown } from '../../api/shown.tsx';
import { CopyText } from '../../components/copy-text.tsx';
import { Facts } from '../../components/facts.tsx';
import { Page } from '../../components/page.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { Credentials } from './credentials.tsx';
import { History } from './history.tsx';
import { InstanceActions } from './instance-actions.tsx';
import { Pairing } from './pairing.tsx';
import { Settings } from './settings.tsx';
import { type ShownInstance, useInstance } from './use-instance.ts';

export function InstancePage() {
  const { t } = useTranslation();
  const { instanceId } = useParams({ from: '/signed-in/shell/instances/$instanceId' });
  const { tab } = useSearch({ from: '/signed-in/shell/instances/$instanceId' });
  const navigate = useNavigate();
  const shown = useInstance(instanceId);
  if (!useMayManage()) return <Navigate to="/messages" replace />;
  const open = (chosen: string | null) =>
    void navigate({
      to: '/instances/$instanceId',
      params: { instanceId },
      search: { tab: chosen === 'settings' ? 'settings' : undefined },
      replace: true,
    });
  return (
    <Page title={shown.data?.instance.name ?? t('instances.title')}>
      <Shown query={shown}>
        {(data) => (
          <Tabs value={tab === 'settings' ? tab : 'overview'} onChange={open} keepMounted={false}>
            <Tabs.List mb="md">
              <Tabs.Tab value="overview">{t('instances.tabs.overview')}</Tabs.Tab>
              <Tabs.Tab value="settings">{t('instances.tabs.settings')}</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="overview">
              <Overview {...data} />
            </Tabs.Panel>
            <Tabs.Panel value="settings">
              <Stack gap="lg">
                <Settings instanceId={instanceId} />
                {data.instance.driver === OFFICIAL && data.instance.phone && (
                  <Credentials instance={data.instance} />
                )}
              </Stack>
            </Tabs.Panel>
          </Tabs>
        )}
      </Shown>
    </Page>
  );
}

function Overview({ instance, connection }: ShownInstance) {
  const { t } = useTranslation();
  return (
    <Stack gap="lg">
      <InstanceActions instance={instance} />
      {instance.driver === OFFICIAL && !instance.phone && <Credentials instance={instance} />}
      {instance.state === 'PAIRING' && <Pairing instanceId={instance.id} />}
      <Paper p="md">
        <Facts
          facts={[
            [t('common.fields.state'), <InstanceStateBadge key="state" state={instance.state} />],
            [t('instances.phone'), instance.phone ?? t('instances.notPaired')],
            [t('instances.network'), instance.driver],
            [
              t('instances.connectedAt'),
              instance.connected_at && <TimeText key="at" at={instance.connected_at} shows="both" />,
            ],
            [t('instances.lastError'), instance.last_error],
            [t('instances.restriction'), instance.restriction],
            [t('common.fields.created'), <TimeText key="created" at={instance.created_at} shows="both" />],
            [t('common.fields.id'), <CopyText key="id" text={instance.id} />],
          ]}
        />
      </Paper>
      <History connection={connection} />
    </Stack>
  );
}
