import { SegmentedControl, Text } from '@mantine/core';
import type { WebhookMetrics } from '@posthorn/sdk/index.ts';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Shown } from '../../api/shown.tsx';
import { BarChart } from '../../components/bar-chart.tsx';
import { Card } from '../../components/card.tsx';
import { useMetrics } from './use-metrics.ts';

const HOURS = { day: 24, week: 168 } as const;
type Period = keyof typeof HOURS;
const PERIODS = Object.keys(HOURS) as Period[];

/** Attempts at the endpoint by hour, for a day or a week, in the user's time zone. */
export function Metrics({ webhookId }: { webhookId: string }) {
  const { t } = useTranslation();
  const [period, setPeriod] = useState<Period>('day');
  const metrics = useMetrics(webhookId, HOURS[period]);
  return (
    <Card
      title={t('webhooks.metrics.title')}
      action={
        <SegmentedControl
          size="xs"
          aria-label={t('webhooks.metrics.period')}
          value={period}
          data={PERIODS.map((value) => ({
            value,
            label: t(`webhooks.metrics.periods.${value}`),
          }))}
          onChange={setPeriod}
        />
      }
    >
      <Shown query={metrics}>{(found) => found && <Columns metrics={found} />}</Shown>
    </Card>
  );
}

function Columns({ metrics }: { metrics: WebhookMetrics }) {
  const { t, i18n } = useTranslation();
  const { by_hour: hours = [], total, success_rate: rate } = metrics;
  // Short, because a phone shows three of them below the columns.
  const hour = {
    day: 'numeric',
    month: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  } as const;
  const clock = new Intl.DateTimeFormat(i18n.language, hour);
  return (
    <>
      <BarChart
        title={t('webhooks.metrics.title')}
        labels={hours.map(({ at }) => clock.format(new Date(at)))}
        series={[
          {
            name: t('webhooks.succeeded'),
            color: 'teal',
            values: hours.map(({ successes }) => successes),
          },
          { name: t('webhooks.failed'), color: 'red', values: hours.map(({ failures }) => failures) },
        ]}
      />
      <Text size="sm">
        {total === 0
          ? t('webhooks.metrics.none')
          : t('webhooks.metrics.rate', { share: rate / 100, count: total })}
      </Text>
    </>
  );
}
