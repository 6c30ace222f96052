import { Group, Stack, Text, VisuallyHidden } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { numberText } from './number-text.ts';

export interface Series {
  name: string;
  /** A colour of the theme. */
  color: string;
  values: readonly number[];
}

const WIDTH = 720;
const HEIGHT = 160;
const GAP = 2;

/** Stacked columns, one for each label. Screen readers get the same figures as a table. */
export function BarChart(props: { title: string; labels: readonly string[]; series: readonly Series[] }) {
  const { labels, series, title } = props;
  const sums = labels.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0));
  const highest = Math.max(...sums, 1);
  const step = WIDTH / labels.length;
  return (
    <Stack gap="xs">
      <Legend series={series} highest={Math.max(...sums, 0)} />
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        width="100%"
        aria-hidden="true"
        preserveAspectRatio="none"
        height={HEIGHT}
      >
        <line x1="0" x2={WIDTH} y1={HEIGHT} y2={HEIGHT} stroke="var(--mantine-color-default-border)" />
        {labels.map((_, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two hours have one label when summer time ends
          <Column key={at} x={at * step} width={step - GAP} at={at} series={series} highest={highest} />
        ))}
      </svg>
      <Group justify="space-between" aria-hidden="true">
        {[0, Math.floor(labels.length / 2), labels.length - 1].map((at) => (
          <Text key={at} size="xs" c="dimmed">
            {labels[at]}
          </Text>
        ))}
      </Group>
      <Figures title={title} labels={labels} series={series} />
    </Stack>
  );
}

function Column(props: { x: number; width: number; at: number; series: readonly Series[]; highest: number }) {
  const { x, width, at, series, highest } = props;
  let top = HEIGHT;
  return series.map(({ name, color, values }) => {
    const height = ((values[at] ?? 0) / highest) * (HEIGHT - 1);
    top -= height;
    return (
      <rect key={name} x={x} y={top} width={width} height={height} fill={`var(--mantine-color-${color}-6)`} />
    );
  });
}

function Legend({ series, highest }: { series: readonly Series[]; highest: number }) {
  const { t, i18n } = useTranslation();
  return (
    <Group gap="md" aria-hidden="true">
      {series.map(({ name, color, values }) => (
        <Group key={name} gap={6}>
          <svg width="10" height="10" aria-hidden="true">
            <rect width="10" height="10" rx="2" fill={`var(--mantine-color-${color}-6)`} />
          </svg>
          <Text size="sm">
            {name}:{' '}
            {numberText(
              values.reduce((sum, value) => sum + value, 0),
              i18n.language,
            )}
          </Text>
        </Group>
      ))}
      <Text size="xs" c="dimmed" ml="auto">
        {t('common.highest', { highest })}
      </Text>
    </Group>
  );
}

function Figures({
  title,
  labels,
  series,
}: {
  title: string;
  labels: readonly string[];
  series: readonly Series[];
}) {
  return (
    <VisuallyHidden>
      <table>
        <caption>{title}</caption>
        <thead>
          <tr>
            <td />
            {series.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {labels.map((label, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: as above
            <tr key={at}>
              <th scope="row">{label}</th>
              {series.map(({ name, values }) => (
                <td key={name}>{values[at]}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </VisuallyHidden>
  );
}
