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

/** Made of plain elements: Mantine's would read the theme and twenty properties for each of hundreds of messages. */
export const Bubble = memo(function Bubble(props: BubbleProps) {
  const { message, reactions, quoted } = props;
  const isOwn = message.direction === 'outbound';
  const isInGroup = message.chat_jid.endsWith('@g.us');
  return (
    <li className="bubble-row" data-own={isOwn} data-message={message.message_id}>
      <div className="bubble">
        {isInGroup && !isOwn && message.from_jid && (
          <div className="sender foreign">
            <PersonName name={message.from_name} id={personOf(message.from_jid)} />
          </div>
        )}
        {quoted && <div className="one-line quoted">{textOfMessage(quoted) || quoted.message_type}</div>}
        <Content message={message} />
        <Footer {...props} />
        {reactions && <div className="foreign">{reactions}</div>}
      </div>
    </li>
  );
});

function Content({ message }: { message: Message }) {
  const { t } = useTranslation();
  const { media_id: mediaId, message_type: type, deleted_at: deletedAt } = message;
  if (deletedAt) return <em className="dimmed">{t('chats.deleted')}</em>;
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
        <small className="dimmed">
          {type}
          {message.incomplete_reason && ` (${message.incomplete_reason})`}
        </small>
      )}
      {shown && (
        <div className="foreign" data-text>
          {isCut ? `${shown}…` : shown}
        </div>
      )}
      {Array.isArray(message.content.options) && (
        <div className="foreign">
          {message.content.options.map((option) => `○ ${String(option)}`).join('\n')}
        </div>
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
    <div className="bubble-foot">
      <small className={message.status === 'failed' ? 'failed' : 'dimmed'}>
        <TimeText at={message.created_at} />
        {marks.length > 0 && ` · ${marks.join(' · ')}`}
      </small>
      <BubbleMenu {...props} />
    </div>
  );
}
