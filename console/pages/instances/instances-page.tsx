import type { Instance } from '@posthorn/sdk/index.ts';
import { Navigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useMayManage } from '../../api/api-context.ts';
import { InstanceStateBadge } from '../../api/instance-state.tsx';
import { Shown } from '../../api/shown.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ButtonLink, TextLink } from '../../components/links.tsx';
import { Page } from '../../components/page.tsx';
import { Cell, Row, RowTable } from '../../components/row-table.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useInstances } from './use-instances.ts';

export function InstancesPage() {
  const { t } = useTranslation();
  const mayManage = useMayManage();
  const instances = useInstances({ enabled: mayManage });
  const create = <ButtonLink to="/instances/new">{t('instances.create')}</ButtonLink>;
  // Agents may only send and read messages.
  if (!mayManage) return <Navigate to="/messages" replace />;
  return (
    <Page title={t('instances.title')} action={instances.data?.length ? create : null}>
      <Shown query={instances}>
        {(list) =>
          list.length === 0 ? (
            <EmptyState text={t('instances.empty')} action={create} />
          ) : (
            <RowTable
              head={[
                t('common.fields.name'),
                t('common.fields.state'),
                t('instances.phone'),
                t('common.fields.created'),
              ]}
            >
              {list.map((instance) => (
                <InstanceRow key={instance.id} instance={instance} />
              ))}
            </RowTable>
          )
        }
      </Shown>
    </Page>
  );
}

function InstanceRow({ instance }: { instance: Instance }) {
  const { t } = useTranslation();
  return (
    <Row>
      <Cell>
        <TextLink to="/instances/$instanceId" params={{ instanceId: instance.id }} className="one-line">
          {instance.name}
        </TextLink>
      </Cell>
      <Cell>
        <InstanceStateBadge state={instance.state} />
      </Cell>
      <Cell>{instance.phone ?? t('instances.notPaired')}</Cell>
      <Cell>
        <TimeText at={instance.created_at} />
      </Cell>
    </Row>
  );
}
