import { Paper, Stack, Text, Title } from '@mantine/core';
import type { Connection } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { INSTANCE_TONES } from '../../api/instance-state.tsx';
import { Timeline } from '../../components/timeline.tsx';

/** The last state changes of the connection, newest first. */
export function History({ connection }: { connection: Connection }) {
  const { t } = useTranslation();
  return (
    <Paper p="md">
      <Stack gap="sm">
        <Title order={2} size="h5">
          {t('instances.history.title')}
        </Title>
        {connection.moves.length === 0 && <Text size="sm">{t('instances.history.empty')}</Text>}
        <Timeline
          moments={connection.moves.map(({ from, to, reason, at }) => ({
            key: `${at} ${from} ${to}`,
            at,
            tone: INSTANCE_TONES[to],
            text: `${t(`instances.states.${from}`)} → ${t(`instances.states.${to}`)}${reason ? ` (${reason})` : ''}`,
          }))}
        />
      </Stack>
    </Paper>
  );
}
