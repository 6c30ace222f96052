import { Group, Stack, Text } from '@mantine/core';
import type { PlaygroundSent } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { MessageStatusBadge } from '../../api/message-status.tsx';
import { Shown } from '../../api/shown.tsx';
import { usePlaygroundMessage } from './use-playground.ts';

/** A simulated phone with the messages sent to it from this page, the newest last. */
export function SimulatedPhone({ sent }: { sent: readonly PlaygroundSent[] }) {
  const { t } = useTranslation();
  const phone = sent.at(-1)?.phone;
  return (
    <section className="phone" aria-label={t('playground.phone')}>
      <Stack gap="xs">
        <Text size="sm" c="dimmed">
          {phone ?? t('playground.nothing')}
        </Text>
        {sent.map(({ message_id: id }) => (
          <Arrived key={id} messageId={id} />
        ))}
      </Stack>
    </section>
  );
}

function Arrived({ messageId }: { messageId: string }) {
  const { t } = useTranslation();
  const message = usePlaygroundMessage(messageId);
  return (
    <Shown query={message}>
      {({ status, shown }) => (
        <Stack gap={4} className="bubble" data-arrived={shown !== null}>
          <Text size="sm" className="foreign">
            {shown ? String(shown.text || shown.type) : t('playground.onItsWay')}
          </Text>
          <Group justify="flex-end">
            <MessageStatusBadge status={status} />
          </Group>
        </Stack>
      )}
    </Shown>
  );
}
