import { Group, Progress, Stack, Text } from '@mantine/core';

/** The limits below which a share counts as fine, and as tight. */
const FINE = 0.8;
const TIGHT = 1;

/** How much of something limited is used; the colour only repeats the figures. */
export function Meter(props: { label: string; share: number; text: string; isGood?: boolean }) {
  const share = Math.min(Math.max(props.share, 0), 1);
  const color = props.isGood === undefined ? colorOf(share) : props.isGood ? 'green' : 'red';
  return (
    <Stack gap={4}>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text size="sm" className="one-line">
          {props.label}
        </Text>
        <Text size="sm" flex="none">
          {props.text}
        </Text>
      </Group>
      <Progress value={Math.round(share * 100)} color={color} size="sm" aria-label={props.label} />
    </Stack>
  );
}

function colorOf(share: number): string {
  if (share < FINE) return 'indigo';
  return share < TIGHT ? 'orange' : 'red';
}
