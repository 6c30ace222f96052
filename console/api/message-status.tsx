import type { Message, MessageStatus } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { StateBadge, type Tone } from '../components/state-badge.tsx';

const TONES: Readonly<Record<MessageStatus, Tone>> = {
  queued: 'busy',
  sent: 'idle',
  delivered: 'good',
  read: 'good',
  played: 'good',
  received: 'good',
  failed: 'bad',
};

export function MessageStatusBadge({ status }: { status: MessageStatus }) {
  const { t } = useTranslation();
  return <StateBadge tone={TONES[status]} label={t(`messages.statuses.${status}`)} />;
}

/** The text of a message: its words, else its caption or file name; empty without any. */
export function textOfMessage({ content }: Pick<Message, 'content'>): string {
  for (const name of ['text', 'caption', 'body_text', 'question', 'file_name', 'name', 'emoji']) {
    const value = content[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return '';
}
