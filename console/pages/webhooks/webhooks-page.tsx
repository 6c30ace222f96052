import type { Webhook } from '@posthorn/sdk/index.ts';
import { Navigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useMayManage } from '../../api/api-context.ts';
import { Shown } from '../../api/shown.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ButtonLink, TextLink } from '../../components/links.tsx';
import { Page } from '../../components/page.tsx';
import { Cell, Row, RowTable } from '../../components/row-table.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useWebhooks } from './use-webhooks.ts';
import { WebhookState } from './webhook-state.tsx';

export function WebhooksPage() {
  const { t } = useTranslation();
  const mayManage = useMayManage();
  const webhooks = useWebhooks({ enabled: mayManage });
  const create = <ButtonLink to="/webhooks/new">{t('webhooks.create')}</ButtonLink>;
  if (!mayManage) return <Navigate to="/messages" replace />;
  return (
    <Page title={t('webhooks.title')} action={webhooks.data?.length ? create : null}>
      <Shown query={webhooks}>
        {(list) =>
          list.length === 0 ? (
            <EmptyState text={t('webhooks.empty')} action={create} />
          ) : (
            <RowTable
              head={[
                t('webhooks.url'),
                t('common.fields.state'),
                t('webhooks.events'),
                t('common.fields.created'),
              ]}
            >
              {list.map((webhook) => (
                <WebhookRow key={webhook.id} webhook={webhook} />
              ))}
            </RowTable>
          )
        }
      </Shown>
    </Page>
  );
}

function WebhookRow({ webhook }: { webhook: Webhook }) {
  return (
    <Row>
      <Cell>
        <TextLink to="/webhooks/$webhookId" params={{ webhookId: String(webhook.id) }} className="one-line">
          {webhook.url}
        </TextLink>
      </Cell>
      <Cell>
        <WebhookState webhook={webhook} />
      </Cell>
      <Cell className="foreign">{webhook.events.join(', ')}</Cell>
      <Cell>
        <TimeText at={webhook.created_at} />
      </Cell>
    </Row>
  );
}
