import type { DeliveryLog } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { attemptTone, outcomeOf } from '../../api/delivery-outcome.ts';
import { Shown } from '../../api/shown.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { TextLink } from '../../components/links.tsx';
import { Cell } from '../../components/row-table.tsx';
import { StateBadge } from '../../components/state-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { WindowRows } from '../../components/window-rows.tsx';
import { useDeliveries } from './use-deliveries.ts';

/** Each attempt in a row; the row opens its event. */
export function Deliveries({ webhookId }: { webhookId: string }) {
  const { t } = useTranslation();
  const list = useDeliveries(webhookId);
  return (
    <Shown query={list}>
      {(logs) =>
        logs.length === 0 ? (
          <EmptyState text={t('webhooks.noDeliveries')} />
        ) : (
          <WindowRows
            head={[t('webhooks.event'), t('webhooks.answer'), t('messages.when')]}
            rows={logs}
            keyOf={({ id }) => id}
            list={list}
          >
            {(log) => <DeliveryCells webhookId={webhookId} log={log} />}
          </WindowRows>
        )
      }
    </Shown>
  );
}

function DeliveryCells({ webhookId, log }: { webhookId: string; log: DeliveryLog }) {
  const { t } = useTranslation();
  return (
    <>
      <Cell>
        <TextLink
          to="/webhooks/$webhookId"
          params={{ webhookId }}
          search={{ event: log.event_id }}
          resetScroll={false}
          className="one-line"
        >
          {log.event_type}, {t('webhooks.attempt', { attempt: log.attempt })}
        </TextLink>
      </Cell>
      <Cell>
        <StateBadge tone={attemptTone(log)} label={outcomeOf(t, log)} />
      </Cell>
      <Cell>
        <TimeText at={log.created_at} />
      </Cell>
    </>
  );
}
