import { Stack } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { ChosenInstance } from '../../api/chosen-instance.tsx';
import { MessageStatusBadge } from '../../api/message-status.tsx';
import { MessageTabs } from '../../api/message-tabs.tsx';
import { partyOf } from '../../api/person-of.ts';
import { Shown } from '../../api/shown.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ButtonLink, TextLink } from '../../components/links.tsx';
import { Page } from '../../components/page.tsx';
import { PersonName } from '../../components/person-name.tsx';
import { Cell } from '../../components/row-table.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { WindowRows } from '../../components/window-rows.tsx';
import { QueueList } from '../queue/queue-list.tsx';
import { ScheduledList } from '../scheduled/scheduled-list.tsx';
import { FilterBar } from './filter-bar.tsx';
import type { Filters } from './filters.ts';
import { type ListedMessage, useMessages } from './use-messages.ts';

export function MessagesPage() {
  const { t } = useTranslation();
  const filters = useSearch({ from: '/signed-in/shell/messages' });
  return (
    <Page
      title={t('messages.title')}
      action={
        filters.instance && (
          <ButtonLink to="/messages/new" search={{ instance: filters.instance }}>
            {t('messages.send')}
          </ButtonLink>
        )
      }
    >
      <ChosenInstance instance={filters.instance} to="/messages">
        <Views filters={filters} />
      </ChosenInstance>
    </Page>
  );
}

/** All messages, the queue, which owners and admins see, or the scheduled sends. */
function Views({ filters }: { filters: Filters }) {
  const { instance = '', show } = filters;
  return (
    <MessageTabs instance={instance} view={show ?? 'log'}>
      {show === 'queue' && <QueueList instanceId={instance} />}
      {show === 'scheduled' && <ScheduledList instanceId={instance} />}
      {!show && (
        <Stack>
          <FilterBar filters={filters} />
          <MessageRows filters={filters} />
        </Stack>
      )}
    </MessageTabs>
  );
}

function MessageRows({ filters }: { filters: Filters }) {
  const { t } = useTranslation();
  const list = useMessages(filters);
  return (
    <Shown query={list}>
      {(rows) =>
        rows.length === 0 && !list.hasNextPage ? (
          <EmptyState text={t(hasFilters(filters) ? 'messages.empty' : 'messages.none')} />
        ) : (
          <WindowRows
            head={[t('messages.content'), t('messages.contact'), t('messages.status'), t('messages.when')]}
            rows={rows}
            keyOf={({ message_id: id }) => id}
            list={list}
          >
            {(message) => <MessageCells message={message} />}
          </WindowRows>
        )
      }
    </Shown>
  );
}

function hasFilters({ chat, direction, status, type }: Filters): boolean {
  return Boolean(chat || direction || status || type);
}

function MessageCells({ message }: { message: ListedMessage }) {
  const { t } = useTranslation();
  const { message_id: messageId, instance_id: instanceId } = message;
  return (
    <>
      <Cell>
        <TextLink
          to="/instances/$instanceId/messages/$messageId"
          params={{ instanceId, messageId }}
          className="one-line"
        >
          {message.text || message.message_type}
        </TextLink>
      </Cell>
      <Cell>
        <span className="one-line short">
          {t(`messages.directions.${message.direction}`)}:{' '}
          <PersonName name={message.chat_name} id={message.phone} otherwise={partyOf(t, message.chat_jid)} />
        </span>
      </Cell>
      <Cell>
        <MessageStatusBadge status={message.status} />
      </Cell>
      <Cell>
        <TimeText at={message.created_at} />
      </Cell>
    </>
  );
}
