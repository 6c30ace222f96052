import type { CompanyUsage } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { BarChart } from '../../components/bar-chart.tsx';
import { Card } from '../../components/card.tsx';

const SHOWN = [
  { what: 'sent', color: 'indigo' },
  { what: 'received', color: 'teal' },
  { what: 'failed', color: 'red' },
] as const;

/** Counts of sent, received and failed messages for each of the last 24 hours, in the person's time zone. */
export function MessagesByHour({ hours }: { hours: CompanyUsage['hours'] }) {
  const { t, i18n } = useTranslation();
  const clock = new Intl.DateTimeFormat(i18n.language, { hour: '2-digit', minute: '2-digit' });
  return (
    <Card title={t('home.messages.title')}>
      <BarChart
        title={t('home.messages.title')}
        labels={hours.map(({ at }) => clock.format(new Date(at)))}
        series={SHOWN.map(({ what, color }) => ({
          name: t(`home.messages.${what}`),
          color,
          values: hours.map((hour) => hour[what]),
        }))}
      />
    </Card>
  );
}
