import { Paper, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';

/** A text for an empty list, and the one action that fills it. */
export function EmptyState({ text, action }: { text: string; action?: ReactNode }) {
  return (
    <Paper p="xl">
      <Stack align="center" gap="md">
        <Text ta="center">{text}</Text>
        {action}
      </Stack>
    </Paper>
  );
}
