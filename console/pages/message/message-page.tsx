import { Paper, Stack, Text, Title } from '@mantine/core';
import type { Message } from '@posthorn/sdk/index.ts';
import { useParams } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { MessageStatusBadge, textOfMessage } from '../../api/message-status.tsx';
import { personOf, STATUS_CHAT } from '../../api/person-of.ts';
import { Shown } from '../../api/shown.tsx';
import { BodyText } from '../../components/body-text.tsx';
import { CopyText } from '../../components/copy-text.tsx';
import { Facts } from '../../components/facts.tsx';
import { TextLink } from '../../components/links.tsx';
import { Page } from '../../components/page.tsx';
import { PersonName } from '../../components/person-name.tsx';
import { ScrollRegion } from '../../components/scroll-region.tsx';
import { Life } from './life.tsx';
import { SameRequest } from './same-request.tsx';
import { useMessage } from './use-message.ts';

export function MessagePage() {
  const { t } = useTranslation();
  const { instanceId, messageId } = useParams({
    from: '/signed-in/shell/instances/$instanceId/messages/$messageId',
  });
  const query = useMessage(instanceId, messageId);
  return (
    <Page
      title={t('messages.message')}
      action={
        <TextLink to="/messages" search={{ instance: instanceId }}>
          {t('messages.title')}
        </TextLink>
      }
    >
      <Shown query={query}>
        {(life) => (
          <Stack gap="lg">
            <Content message={life.message} />
            <Paper p="md">
              <Stack gap="sm">
                <Title order={2} size="h5">
                  {t('messages.life.title')}
                </Title>
                <Life life={life} />
              </Stack>
            </Paper>
            {life.message.direction === 'outbound' && <SameRequest message={life.message} />}
            <Stack gap="xs">
              <Title order={2} size="h5">
                {t('messages.raw')}
              </Title>
              <BodyText text={JSON.stringify(life.message)} label={t('messages.raw')} />
            </Stack>
          </Stack>
        )}
      </Shown>
    </Page>
  );
}

function Content({ message }: { message: Message }) {
  const { t } = useTranslation();
  const text = textOfMessage(message);
  return (
    <Paper p="md">
      <Stack gap="md">
        {text && (
          <ScrollRegion label={t('messages.content')}>
            <Text className="foreign" data-content>
              {text}
            </Text>
          </ScrollRegion>
        )}
        <Facts
          facts={[
            [t('messages.status'), <MessageStatusBadge key="status" status={message.status} />],
            [t('messages.type'), message.message_type],
            [t('messages.direction'), t(`messages.directions.${message.direction}`)],
            [t('messages.chat'), <ChatLink key="chat" message={message} />],
            [
              t('messages.from'),
              message.from_jid && (
                <PersonName key="from" name={message.from_name} id={personOf(message.from_jid)} />
              ),
            ],
            [t('messages.networkId'), message.network_id],
            [t('messages.key'), message.idempotency_key],
            [t('common.fields.id'), <CopyText key="id" text={message.message_id} />],
          ]}
        />
      </Stack>
    </Paper>
  );
}

function ChatLink({ message }: { message: Message }) {
  const { t } = useTranslation();
  const { instance_id: instance, chat_jid: chat, chat_name: name, phone } = message;
  if (chat === STATUS_CHAT)
    return (
      <TextLink to="/messages/status" search={{ instance }}>
        {t('status.title')}
      </TextLink>
    );
  return (
    <TextLink to="/chats" search={{ instance, chat }}>
      <PersonName name={name} id={phone} otherwise={personOf(chat)} />
    </TextLink>
  );
}
