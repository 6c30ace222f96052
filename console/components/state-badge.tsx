import { Badge } from '@mantine/core';

export type Tone = 'good' | 'busy' | 'idle' | 'warn' | 'bad';

/** Only a dot has the colour, so that the text keeps its contrast in both themes. */
const COLORS: Readonly<Record<Tone, string>> = {
  good: 'green',
  busy: 'blue',
  idle: 'gray',
  warn: 'orange',
  bad: 'red',
};

export function StateBadge({ tone, label }: { tone: Tone; label: string }) {
  return (
    <Badge variant="default" tt="none" fw={500} leftSection={<Dot color={COLORS[tone]} />} data-tone={tone}>
      {label}
    </Badge>
  );
}

function Dot({ color }: { color: string }) {
  return (
    <svg width="8" height="8" aria-hidden="true">
      <circle cx="4" cy="4" r="4" fill={`var(--mantine-color-${color}-6)`} />
    </svg>
  );
}
