import { Button, Drawer, Group, Stack, Text, Title } from '@mantine/core';
import type { DeliveryLog } from '@posthorn/sdk/index.ts';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { attemptTone, outcomeOf } from '../../api/delivery-outcome.ts';
import { Shown } from '../../api/shown.tsx';
import { useClose } from '../../api/use-close.ts';
import { BodyText } from '../../components/body-text.tsx';
import { CopyText } from '../../components/copy-text.tsx';
import { durationText } from '../../components/duration-text.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { StateBadge } from '../../components/state-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useFocusBack } from '../../components/use-focus-back.ts';
import { useEventDeliveries, useReplay } from './use-deliveries.ts';

/** One event at one webhook: the request, each answer, and the button that sends it again. */
export function DeliveryDrawer({ webhookId, eventId }: { webhookId: string; eventId: string }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  useFocusBack();
  const attempts = useEventDeliveries(webhookId, eventId);
  const close = useClose(
    () =>
      void navigate({ to: '/webhooks/$webhookId', params: { webhookId }, replace: true, resetScroll: false }),
  );
  return (
    <Drawer
      opened
      position="right"
      size="lg"
      title={attempts.data?.[0]?.event_type ?? t('webhooks.event')}
      closeButtonProps={{ 'aria-label': t('common.actions.back') }}
      onClose={close}
    >
      <Stack gap="lg">
        <CopyText label={t('common.fields.id')} text={eventId} />
        <Shown query={attempts}>
          {(logs) => {
            const last = logs.at(-1);
            if (!last) return <EmptyState text={t('webhooks.noAttempts')} />;
            return (
              <>
                <Replay webhookId={webhookId} logId={last.id} />
                {[...logs].reverse().map((log) => (
                  <Attempt key={log.id} log={log} />
                ))}
                <Title order={3} size="h6">
                  {t('webhooks.request')}
                </Title>
                {last.payload ? (
                  <BodyText text={last.payload} label={t('webhooks.request')} />
                ) : (
                  <Text size="sm">{t('webhooks.payloadGone')}</Text>
                )}
              </>
            );
          }}
        </Shown>
      </Stack>
    </Drawer>
  );
}

function Replay({ webhookId, logId }: { webhookId: string; logId: number }) {
  const { t } = useTranslation();
  const replay = useReplay(webhookId);
  return (
    <Stack gap="xs" align="flex-start">
      <Group>
        <Button loading={replay.isPending} onClick={() => replay.mutate(logId)}>
          {t('webhooks.replay')}
        </Button>
        <Text size="sm" role="status">
          {replay.isSuccess && t('webhooks.replayed')}
        </Text>
      </Group>
      {replay.error && <ApiError error={replay.error} />}
    </Stack>
  );
}

function Attempt({ log }: { log: DeliveryLog }) {
  const { t } = useTranslation();
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Group gap="xs">
          <Title order={3} size="h6">
            {t('webhooks.attempt', { attempt: log.attempt })}
          </Title>
          <StateBadge tone={attemptTone(log)} label={outcomeOf(t, log)} />
        </Group>
        <Text size="sm">
          <TimeText at={log.created_at} shows="both" />
          <Timing log={log} />
        </Text>
      </Group>
      {log.response ? (
        <BodyText text={log.response} label={t('webhooks.response')} />
      ) : (
        <Text size="sm" c="dimmed">
          {t('webhooks.response')}: {t('webhooks.emptyBody')}
        </Text>
      )}
    </Stack>
  );
}

/** The time between the event and the attempt, if the payload still exists to compute it. */
function Timing({ log }: { log: DeliveryLog }) {
  const { t, i18n } = useTranslation();
  const at = createdAtOf(log.payload);
  if (at === null) return null;
  const time = durationText(Math.max(0, Date.parse(log.created_at) - at) / 1_000, i18n.language);
  return `, ${t('webhooks.after', { time })}`;
}

function createdAtOf(payload: string): number | null {
  try {
    const { created_at: at } = JSON.parse(payload) as { created_at?: unknown };
    const time = typeof at === 'string' ? Date.parse(at) : Number.NaN;
    return Number.isNaN(time) ? null : time;
  } catch {
    return null;
  }
}
