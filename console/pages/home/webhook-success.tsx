import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Shown } from '../../api/shown.tsx';
import { Card } from '../../components/card.tsx';
import { TextLink } from '../../components/links.tsx';
import { Meter } from '../../components/meter.tsx';
import { useWebhookMetrics } from './use-home.ts';

/** The number of endpoints shown: those that fail most. */
const SHOWN_MAX = 5;
const GOOD_PERCENT = 99;

export function WebhookSuccess() {
  const { t } = useTranslation();
  const metrics = useWebhookMetrics();
  return (
    <Card title={t('home.webhooks.title')} action={<TextLink to="/webhooks">{t('home.all')}</TextLink>}>
      <Shown query={metrics}>
        {(webhooks) => {
          const used = webhooks.filter(({ total }) => total > 0);
          used.sort((a, b) => a.success_rate - b.success_rate);
          if (used.length === 0) return <Text size="sm">{t('home.webhooks.none')}</Text>;
          return used
            .slice(0, SHOWN_MAX)
            .map(({ webhook_id: id, url, successes, total, success_rate }) => (
              <Meter
                key={id}
                label={url}
                share={success_rate / 100}
                isGood={success_rate >= GOOD_PERCENT}
                text={t('home.webhooks.share', { successes, total })}
              />
            ));
        }}
      </Shown>
    </Card>
  );
}
