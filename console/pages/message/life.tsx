import { Stack, Text } from '@mantine/core';
import type { DeliveryLog, Message } from '@posthorn/sdk/index.ts';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { useMayManage } from '../../api/api-context.ts';
import { attemptTone, outcomeOf } from '../../api/delivery-outcome.ts';
import { TextLink } from '../../components/links.tsx';
import { shortText } from '../../components/row-button.tsx';
import { exactTime } from '../../components/time-text.tsx';
import { type Moment, Timeline } from '../../components/timeline.tsx';
import type { MessageLife } from './use-message.ts';

/** The timeline of a message: its steps, and the webhook deliveries of its events. */
export function Life({ life: { message, attempts, isCut } }: { life: MessageLife }) {
  const { t, i18n } = useTranslation();
  const mayManage = useMayManage();
  const moments = [
    ...momentsOf(t, i18n.language, message),
    ...attempts.map((attempt) => momentOf(t, attempt, mayManage)),
  ];
  // A moment without a time is still to come, so it is sorted last.
  moments.sort((a, b) => (a.at ?? '9').localeCompare(b.at ?? '9'));
  return (
    <Stack gap="sm">
      <Timeline moments={moments} />
      {isCut && (
        <Text size="sm" c="dimmed">
          {t('messages.life.cut')}
        </Text>
      )}
    </Stack>
  );
}

function momentsOf(t: TFunction, language: string, message: Message): Moment[] {
  const isOwn = message.direction === 'outbound';
  const steps: [key: string, at: string | null, text: string][] = [
    ['accepted', message.created_at, t(isOwn ? 'messages.life.accepted' : 'messages.life.received')],
    ['sent', message.sent_at, t('messages.life.sent')],
    ['delivered', message.delivered_at, t('messages.life.delivered')],
    ['read', message.read_at, t('messages.life.read')],
    ['played', message.played_at, t('messages.life.played')],
    ['edited', message.edited_at, t('messages.life.edited')],
    ['deleted', message.deleted_at, t('messages.life.deleted')],
  ];
  const done = steps
    .filter(([, at]) => at !== null)
    .map(([key, at, text]): Moment => ({ key, at, text, tone: 'good' }));
  return [...done, ...pendingOf(t, language, message)];
}

/** The reason why a message waits, or its failure. */
function pendingOf(t: TFunction, language: string, message: Message): Moment[] {
  const { status, typing_until: until, failed_reason: reason } = message;
  if (status === 'failed')
    return [
      { key: 'failed', at: null, tone: 'bad', text: t('messages.life.failed', { reason: reason ?? '?' }) },
    ];
  if (status !== 'queued') return [];
  const text = until
    ? t('messages.life.typing', { at: exactTime(until, language) })
    : t('messages.life.waiting');
  return [{ key: 'waiting', at: null, tone: 'busy', text }];
}

/** Links users who may see the webhook to the answer and its replay button. */
function momentOf(t: TFunction, log: DeliveryLog, mayManage: boolean): Moment {
  const { event_type: type, event_id: event, attempt, webhook_id: webhookId } = log;
  const text = t('messages.life.attempt', { type, attempt, outcome: outcomeOf(t, log) });
  return {
    key: `attempt ${log.id}`,
    at: log.created_at,
    tone: attemptTone(log),
    text: (
      <>
        {mayManage ? (
          <TextLink to="/webhooks/$webhookId" params={{ webhookId: String(webhookId) }} search={{ event }}>
            {text}
          </TextLink>
        ) : (
          text
        )}{' '}
        ({shortText(log.webhook_url)})
      </>
    ),
  };
}
