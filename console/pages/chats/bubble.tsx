import { Group, Stack, Text } from '@mantine/core';
import type { Message } from '@posthorn/sdk/index.ts';
import { memo } from 'react';
import { useTranslation } from 'react-i18next';
import { MediaView } from '../../api/media-view.tsx';
import { textOfMessage } from '../../api/message-status.tsx';
import { personOf } from '../../api/person-of.ts';
import { PersonName } from '../../components/person-name.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { BubbleMenu } from './bubble-menu.tsx';
import type { BubbleProps } from './bubble-props.ts';

/** A longer text would fill more than the screen. */
const SHOWN_CHARS = 4_000;

export const Bubble = memo(function Bubble(props: BubbleProps) {
  const { message, reactions, quoted } = props;
  const isOwn = message.direction === 'outbound';
  const isInGroup = message.chat_jid.endsWith('@g.us');
  return (
    <li className="bubble-row" data-own={isOwn} data-message={message.message_id}>
      <Stack gap={4} className="bubble">
        {isInGroup && !isOwn && message.from_jid && (
          <Text size="xs" fw={600} className="foreign">
            <PersonName name={message.from_name} id={personOf(message.from_jid)} />
          </Text>
        )}
        {quoted && (
          <Text size="xs" c="dimmed" className="one-line quoted">
            {textOfMessage(quoted) || quoted.message_type}
          </Text>
        )}
        <Content message={message} />
        <Footer {...props} />
        {reactions && (
          <Text size="sm" className="foreign">
            {reactions}
          </Text>
        )}
      </Stack>
    </li>
  );
});

function Content({ message }: { message: Message }) {
  const { t } = useTranslation();
  const { media_id: mediaId, message_type: type, deleted_at: deletedAt } = message;
  if (deletedAt)
    return (
      <Text size="sm" c="dimmed" fs="italic">
        {t('chats.deleted')}
      </Text>
    );
  const text = textOfMessage(message);
  const [shown, isCut] = [text.slice(0, SHOWN_CHARS), text.length > SHOWN_CHARS];
  return (
    <>
      {mediaId && (
        <MediaView
          instanceId={message.instance_id}
          mediaId={mediaId}
          kind={mediaKind(type)}
          name={String(message.content.file_name ?? type)}
        />
      )}
      {!mediaId && type !== 'text' && (
        <Text size="xs" c="dimmed">
          {type}
          {message.incomplete_reason && ` (${message.incomplete_reason})`}
        </Text>
      )}
      {shown && (
        <Text size="sm" className="foreign" data-text>
          {isCut ? `${shown}…` : shown}
        </Text>
      )}
      {Array.isArray(message.content.options) && (
        <Text size="sm" className="foreign">
          {message.content.options.map((option) => `○ ${String(option)}`).join('\n')}
        </Text>
      )}
    </>
  );
}

function mediaKind(type: string): 'image' | 'video' | 'audio' | 'file' {
  if (type === 'image' || type === 'sticker') return 'image';
  if (type === 'video' || type === 'gif' || type === 'ptv') return 'video';
  return type === 'audio' ? 'audio' : 'file';
}

function Footer(props: BubbleProps) {
  const { t } = useTranslation();
  const { message } = props;
  const marks = [
    message.source === 'device' && t('chats.fromPhone'),
    message.edited_at && t('chats.edited'),
    message.direction === 'outbound' && t(`messages.statuses.${message.status}`),
  ].filter(Boolean);
  return (
    <Group gap="xs" justify="space-between" wrap="nowrap">
      <Text size="xs" c={message.status === 'failed' ? 'var(--mantine-color-error)' : 'dimmed'}>
        <TimeText at={message.created_at} />
        {marks.length > 0 && ` · ${marks.join(' · ')}`}
      </Text>
      <BubbleMenu {...props} />
    </Group>
  );
}
