import { Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Tone } from './state-badge.tsx';
import { TimeText } from './time-text.tsx';

export interface Moment {
  key: string;
  at: string | null;
  text: ReactNode;
  tone: Tone;
}

const SIGNS: Readonly<Record<Tone, string>> = { good: '✓', busy: '…', idle: '·', warn: '!', bad: '✕' };

/** Events in order of time, one line each. */
export function Timeline({ moments }: { moments: readonly Moment[] }) {
  return (
    <Stack component="ol" gap="xs" m={0} p={0}>
      {moments.map(({ key, at, text, tone }) => (
        <Group key={key} component="li" gap="sm" wrap="nowrap" align="baseline" data-moment={key}>
          <Text span w="1rem" ta="center" aria-hidden="true">
            {SIGNS[tone]}
          </Text>
          <Group gap="0 0.75rem" flex={1} justify="space-between" align="baseline">
            <Text size="sm" flex="1 1 12rem" className="foreign">
              {text}
            </Text>
            <Text size="sm" c="dimmed">
              {at && <TimeText at={at} shows="both" />}
            </Text>
          </Group>
        </Group>
      ))}
    </Stack>
  );
}
