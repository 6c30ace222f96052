import { Text } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { ChosenInstance } from '../../api/chosen-instance.tsx';
import { Page } from '../../components/page.tsx';
import { ChatList } from './chat-list.tsx';
import { Conversation } from './conversation.tsx';
import { CHAT_FILTERS } from './use-chats.ts';

/** The list and the conversation side by side; on a phone one of them. */
export function ChatsPage() {
  const { t } = useTranslation();
  const { instance, chat, show } = useSearch({ from: '/signed-in/shell/chats' });
  const filter = CHAT_FILTERS.find((name) => name === show) ?? 'all';
  return (
    <Page title={t('chats.title')}>
      <ChosenInstance instance={instance} to="/chats">
        {instance && (
          <div className="panes" data-open={chat ? 'second' : 'first'}>
            <ChatList key={`${instance} ${filter}`} instanceId={instance} chosen={chat} show={filter} />
            {chat ? (
              <Conversation key={`${instance} ${chat}`} instanceId={instance} chatId={chat} show={show} />
            ) : (
              <Text c="dimmed" ta="center" p="xl" className="second-pane">
                {t('chats.choose')}
              </Text>
            )}
          </div>
        )}
      </ChosenInstance>
    </Page>
  );
}
