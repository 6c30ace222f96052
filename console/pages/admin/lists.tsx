import { Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useUser } from '../../api/api-context.ts';
import { ApiError } from '../../api/api-error.tsx';
import { InstanceStateBadge } from '../../api/instance-state.tsx';
import { Shown } from '../../api/shown.tsx';
import type { useFeed } from '../../api/use-feed.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { RowButton, shortText } from '../../components/row-button.tsx';
import { Cell } from '../../components/row-table.tsx';
import { StateBadge, type Tone } from '../../components/state-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { WindowRows } from '../../components/window-rows.tsx';
import { useAllInstances, useCompanies, useFeedback, useProviderEvents } from './use-admin.ts';

const TONES: Readonly<Record<string, Tone>> = {
  active: 'good',
  processed: 'good',
  done: 'good',
  open: 'busy',
  pending: 'busy',
  suspended: 'warn',
  failed: 'bad',
};

/** A table of the platform. The last cell of a row may have an action. */
function AdminRows<Row extends { id: number | string }>(props: {
  head: readonly string[];
  list: ReturnType<typeof useFeed<Row, number>> | ReturnType<typeof useFeed<Row, string>>;
  error?: unknown;
  cells: (row: Row) => readonly ReactNode[];
}) {
  const { t } = useTranslation();
  const { list, error, cells } = props;
  return (
    <Stack>
      {error ? <ApiError error={error} /> : null}
      <Shown query={list}>
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState text={t('admin.empty')} />
          ) : (
            <WindowRows head={props.head} rows={rows} keyOf={({ id }) => id} list={list}>
              {(row) =>
                cells(row).map((cell, at) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its column
                  <Cell key={at} className="foreign">
                    {cell}
                  </Cell>
                ))
              }
            </WindowRows>
          )
        }
      </Shown>
    </Stack>
  );
}

export function Companies() {
  const { t } = useTranslation();
  const { list, change } = useCompanies();
  const { company_id: platformId } = useUser();
  return (
    <AdminRows
      head={[t('session.company'), t('common.fields.state'), t('admin.people'), t('instances.title'), '']}
      list={list}
      error={change.error}
      cells={({ id, name, status, users, instances }) => [
        name,
        <StateBadge key="state" tone={TONES[status] ?? 'idle'} label={t(`admin.states.${status}`)} />,
        users,
        instances,
        // The platform itself cannot be suspended.
        status === 'active' && id !== platformId && (
          <ConfirmButton
            key="suspend"
            isInRow
            label={t('admin.suspend')}
            thing={name}
            text={t('admin.suspendText', { name })}
            busy={change.isPending}
            onConfirm={() => change.mutate({ id, suspend: true })}
          />
        ),
        status === 'suspended' && (
          <RowButton
            key="reactivate"
            label={t('admin.reactivate')}
            thing={name}
            busy={change.isPending}
            onClick={() => change.mutate({ id, suspend: false })}
          />
        ),
      ]}
    />
  );
}

export function AllInstances() {
  const { t } = useTranslation();
  return (
    <AdminRows
      head={[
        t('common.fields.name'),
        t('session.company'),
        t('common.fields.state'),
        t('instances.lastError'),
      ]}
      list={useAllInstances()}
      cells={({ name, company_name: company, state, last_error: error }) => [
        name,
        company,
        <InstanceStateBadge key="state" state={state} />,
        error,
      ]}
    />
  );
}

export function ProviderEvents() {
  const { t } = useTranslation();
  const { list, reprocess } = useProviderEvents();
  return (
    <AdminRows
      head={[t('events.event'), t('common.fields.state'), t('instances.lastError'), t('messages.when'), '']}
      list={list}
      error={reprocess.error}
      cells={({ id, event, status, last_error: error, received_at: at }) => [
        <span key="event" className="whole">
          {event}
        </span>,
        <StateBadge key="state" tone={TONES[status] ?? 'idle'} label={t(`admin.states.${status}`)} />,
        error,
        <TimeText key="at" at={at} shows="both" />,
        <RowButton
          key="again"
          label={t('admin.reprocess')}
          thing={`${event} ${id}`}
          onClick={() => reprocess.mutate(id)}
        />,
      ]}
    />
  );
}

export function AllFeedback() {
  const { t } = useTranslation();
  const { list, change } = useFeedback();
  return (
    <AdminRows
      head={[t('admin.feedback'), t('session.company'), t('common.fields.state'), t('messages.when'), '']}
      list={list}
      error={change.error}
      cells={({ id, kind, message, company_name: company, state, created_at: at }) => [
        `${t(`admin.kinds.${kind}`)}: ${message}`,
        company,
        <StateBadge key="state" tone={TONES[state] ?? 'idle'} label={t(`admin.states.${state}`)} />,
        <TimeText key="at" at={at} shows="both" />,
        <RowButton
          key="done"
          label={t(state === 'open' ? 'admin.markDone' : 'admin.markOpen')}
          thing={shortText(message)}
          onClick={() => change.mutate({ id, state: state === 'open' ? 'done' : 'open' })}
        />,
      ]}
    />
  );
}
