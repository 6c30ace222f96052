import { Paper, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';

/** What would be here, and the one thing that makes it so. */
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
