import { Badge, SegmentedControl, Text } from '@mantine/core';
import type { Chat } from '@posthorn/sdk/index.ts';
import { useNavigate } from '@tanstack/react-router';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { Shown } from '../../api/shown.tsx';
import { ElementRows } from '../../components/element-rows.tsx';
import { TextLink } from '../../components/links.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { CHAT_FILTERS, type ChatFilter, useChats } from './use-chats.ts';

const ROW_PX = 64;

export function ChatList(props: { instanceId: string; chosen: string | undefined; show: ChatFilter }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const { instanceId, chosen, show } = props;
  const chats = useChats(instanceId, show);
  return (
    <section className="first-pane" aria-label={t('chats.list')}>
      <SegmentedControl
        fullWidth
        size="xs"
        m="xs"
        aria-label={t('chats.filter')}
        value={show}
        data={CHAT_FILTERS.map((value) => ({ value, label: t(`chats.filters.${value}`) }))}
        onChange={(value) =>
          void navigate({ to: '/chats', search: { instance: instanceId, show: value }, replace: true })
        }
      />
      <Shown query={chats}>
        {(rows) =>
          rows.length === 0 ? (
            <Text size="sm" p="md">
              {t(`chats.empty.${show}`)}
            </Text>
          ) : (
            <ElementRows
              label={t('chats.list')}
              rows={rows}
              rowPx={ROW_PX}
              keyOf={({ chat_jid: id }) => id}
              list={chats}
            >
              {(chat) => (
                <ChatRow
                  chat={chat}
                  instanceId={instanceId}
                  isChosen={chat.chat_jid === chosen}
                  show={show}
                />
              )}
            </ElementRows>
          )
        }
      </Shown>
    </section>
  );
}

function ChatRow(props: { chat: Chat; instanceId: string; isChosen: boolean; show: string }) {
  const { t } = useTranslation();
  const { chat, instanceId, isChosen, show } = props;
  const { last_message: last, unread_count: unread } = chat;
  return (
    <TextLink
      to="/chats"
      search={{ instance: instanceId, chat: chat.chat_jid, show }}
      className="chat-row"
      data-chosen={isChosen}
      aria-current={isChosen ? 'true' : undefined}
    >
      <span className="one-line name">{nameOf(chat)}</span>
      <span className="time">{last && <TimeText at={last.timestamp} />}</span>
      <span className="one-line">
        {last && `${last.direction === 'outbound' ? '→ ' : ''}${previewOf(t, last)}`}
      </span>
      <span className="unread">
        {(unread > 0 || chat.marked_unread) && (
          <Badge size="sm" flex="none" variant="filled" aria-label={t('chats.unread', { count: unread })}>
            {unread || '·'}
          </Badge>
        )}
      </span>
    </TextLink>
  );
}

/** The words of the last message, else its type; a text without words was deleted. */
function previewOf(t: TFunction, { preview, type }: NonNullable<Chat['last_message']>): string {
  return preview || (type === 'text' ? t('chats.deleted') : type);
}

/** The name of a chat, else its phone, else its id. */
export function nameOf({ name, phone, chat_jid: id }: Pick<Chat, 'name' | 'phone' | 'chat_jid'>): string {
  return name || phone || id;
}
