import { Button, Group, Menu, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { useIsOfficial } from '../../api/official.ts';
import { personOf } from '../../api/person-of.ts';
import { ButtonLink } from '../../components/links.tsx';
import { ChatDetails } from './chat-details.tsx';
import { nameOf } from './chat-list.tsx';
import { useChat, useChatChange } from './use-chats.ts';

/** The name of the chat, and the actions on the whole chat. */
export function ChatHeader(props: { instanceId: string; chatId: string; show: string | undefined }) {
  const { t } = useTranslation();
  const { instanceId, chatId, show } = props;
  const { data: chat } = useChat(instanceId, chatId);
  const change = useChatChange(instanceId, chatId);
  const [isOpen, details] = useDisclosure(false);
  const isOfficial = useIsOfficial(instanceId);
  const isUnread = chat && (chat.unread_count > 0 || chat.marked_unread);
  return (
    <>
      <Group className="chat-header" justify="space-between" wrap="nowrap" gap="xs">
        <ButtonLink
          to="/chats"
          search={{ instance: instanceId, show }}
          variant="default"
          size="compact-sm"
          hiddenFrom="sm"
        >
          {t('common.actions.back')}
        </ButtonLink>
        <Text fw={600} className="one-line" flex={1}>
          {chat ? nameOf(chat) : personOf(chatId)}
        </Text>
        {isUnread && (
          <Button
            size="compact-sm"
            variant="default"
            visibleFrom="sm"
            loading={change.isPending}
            onClick={() => change.mutate({ what: 'read', read: true })}
          >
            {t('chats.markRead')}
          </Button>
        )}
        <Menu position="bottom-end" width={220}>
          <Menu.Target>
            <Button size="compact-sm" variant="default" aria-label={t('chats.menu')}>
              ⋯
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={details.open}>{t('chats.details.title')}</Menu.Item>
            {chat && (
              <>
                <Menu.Item onClick={() => change.mutate({ what: 'read', read: isUnread === true })}>
                  {t(isUnread ? 'chats.markRead' : 'chats.markUnread')}
                </Menu.Item>
                {!isOfficial && (
                  <>
                    <Menu.Item onClick={() => change.mutate({ what: 'pin', pinned: !chat.pinned })}>
                      {t(chat.pinned ? 'chats.unpin' : 'chats.pin')}
                    </Menu.Item>
                    <Menu.Item onClick={() => change.mutate({ what: 'mute', muted: !chat.muted })}>
                      {t(chat.muted ? 'chats.unmute' : 'chats.mute')}
                    </Menu.Item>
                    <Menu.Item onClick={() => change.mutate({ what: 'archive', archived: !chat.archived })}>
                      {t(chat.archived ? 'chats.unarchive' : 'chats.archive')}
                    </Menu.Item>
                  </>
                )}
              </>
            )}
          </Menu.Dropdown>
        </Menu>
      </Group>
      {change.error && <ApiError error={change.error} />}
      {isOpen && <ChatDetails instanceId={instanceId} chatId={chatId} onClose={details.close} />}
    </>
  );
}
