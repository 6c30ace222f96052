import { Group, Text } from '@mantine/core';
import type { CompanyUsage, InstanceState } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { INSTANCE_TONES, InstanceStateBadge } from '../../api/instance-state.tsx';
import { Card } from '../../components/card.tsx';
import { TextLink } from '../../components/links.tsx';
import { numberText } from '../../components/number-text.ts';

export function InstancesByState({ instances }: Pick<CompanyUsage, 'instances'>) {
  const { t, i18n } = useTranslation();
  const states = (Object.keys(INSTANCE_TONES) as InstanceState[]).map(
    (state) => [state, instances.filter((instance) => instance.state === state).length] as const,
  );
  return (
    <Card title={t('home.instances')} action={<TextLink to="/instances">{t('home.all')}</TextLink>}>
      {states
        .filter(([, count]) => count > 0)
        .map(([state, count]) => (
          <Group key={state} justify="space-between">
            <InstanceStateBadge state={state} />
            <Text size="sm">{numberText(count, i18n.language)}</Text>
          </Group>
        ))}
    </Card>
  );
}
