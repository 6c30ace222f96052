import { Button, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { MutationForm } from '../../api/mutation-form.tsx';
import { MomentInput } from '../../components/moment-input.tsx';
import { useReplayFailed } from './use-deliveries.ts';

const DAY_MS = 86_400_000;

/** Replays the events whose last attempt since a given time failed, for use after an endpoint was repaired. */
export function ReplayFailed({ webhookId }: { webhookId: string }) {
  const { t } = useTranslation();
  const [opened, { open, close }] = useDisclosure(false);
  const [since, setSince] = useState('');
  const replay = useReplayFailed(webhookId);
  return (
    <>
      <Button
        variant="default"
        onClick={() => {
          setSince(new Date(Date.now() - DAY_MS).toISOString());
          replay.reset();
          open();
        }}
      >
        {t('webhooks.replayFailed.title')}
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        title={t('webhooks.replayFailed.title')}
        centered
        closeButtonProps={{ 'aria-label': t('common.actions.back') }}
      >
        <Stack>
          <MutationForm
            label={t('webhooks.replayFailed.submit')}
            mutation={replay}
            onSubmit={() => replay.mutate(since)}
          >
            <Text size="sm">{t('webhooks.replayFailed.text')}</Text>
            <MomentInput
              label={t('webhooks.replayFailed.since')}
              required
              value={since}
              onChange={setSince}
            />
          </MutationForm>
          <Text size="sm" role="status">
            {replay.data && t('webhooks.replayFailed.done', { ...replay.data })}
          </Text>
        </Stack>
      </Modal>
    </>
  );
}
