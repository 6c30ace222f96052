import { Alert, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useMayManage } from '../../api/api-context.ts';
import { useIsOfficial } from '../../api/official.ts';
import { TextLink } from '../../components/links.tsx';
import { useChat } from './use-chats.ts';

/** Says that an official number may only send templates to this chat, until its contact writes. */
export function WindowNote({ instanceId, chatId }: { instanceId: string; chatId: string }) {
  const { t } = useTranslation();
  const isOfficial = useIsOfficial(instanceId);
  const mayManage = useMayManage();
  const { data: chat, isPending } = useChat(instanceId, chatId);
  const isOpen = chat?.window_until && Date.parse(chat.window_until) > Date.now();
  if (!isOfficial || isPending || isOpen) return null;
  return (
    <Alert variant="outline" color="gray" mx="xs" mb="xs" py="xs" role="status">
      <Text size="sm">
        {t('chats.windowClosed')}{' '}
        {mayManage && (
          <TextLink
            to="/messages/new"
            search={{ instance: instanceId, kind: 'approved-template', to: chatId }}
          >
            {t('chats.sendTemplate')}
          </TextLink>
        )}
      </Text>
    </Alert>
  );
}
