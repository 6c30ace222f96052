import { Text } from '@mantine/core';
import type { CompanyUsage } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { bytesText } from '../../components/bytes-text.ts';
import { Card } from '../../components/card.tsx';
import { TextLink } from '../../components/links.tsx';
import { Meter } from '../../components/meter.tsx';
import { numberText } from '../../components/number-text.ts';

const COUNTED = ['instances', 'users', 'webhooks'] as const;

/** Shows how much of each limit of the plan is used. */
export function PlanUsage({ plan }: Pick<CompanyUsage, 'plan'>) {
  const { t, i18n } = useTranslation();
  const { storage_bytes: storage } = plan;
  const bytes = (count: number) => bytesText(count, i18n.language);
  const number = (count: number) => numberText(count, i18n.language);
  return (
    <Card title={t('home.plan.title')} action={<TextLink to="/billing">{t('billing.title')}</TextLink>}>
      {COUNTED.map((what) => (
        <Meter
          key={what}
          label={t(`home.plan.${what}`)}
          share={plan[what].used / plan[what].limit}
          text={`${number(plan[what].used)} / ${number(plan[what].limit)}`}
        />
      ))}
      <Meter
        label={t('home.plan.storage')}
        share={storage.used / storage.limit}
        text={`${bytes(storage.used)} / ${bytes(storage.limit)}`}
      />
      <Text size="sm" c="dimmed">
        {t('home.plan.requests', { count: plan.requests_per_minute })}
      </Text>
    </Card>
  );
}
