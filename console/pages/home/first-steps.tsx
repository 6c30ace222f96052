import { List, Text } from '@mantine/core';
import type { CompanyUsage } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { Card } from '../../components/card.tsx';
import { ButtonLink } from '../../components/links.tsx';
import { useFirstSteps } from './use-home.ts';

const STEPS = [
  { step: 'connect', to: '/instances/new' },
  { step: 'send', to: '/messages/new' },
  { step: 'receive', to: '/chats' },
] as const;

/** Connect, send, receive: the next step has the button. The card disappears once all are done. */
export function FirstSteps({ usage }: { usage: CompanyUsage }) {
  const { t } = useTranslation();
  const { data: done } = useFirstSteps(usage);
  const next = done && STEPS.find(({ step }) => !done[step]);
  if (!next) return null;
  const unpaired = usage.instances[0];
  return (
    <Card title={t('home.first.title')}>
      <List listStyleType="none" spacing="xs">
        {STEPS.map(({ step }) => (
          <List.Item key={step} icon={<span aria-hidden="true">{done[step] ? '✓' : '·'}</span>}>
            <Text size="sm" {...(step === next.step ? { fw: 600 } : {})}>
              {t(`home.first.${step}`)}
              {done[step] && `: ${t('home.first.done')}`}
            </Text>
          </List.Item>
        ))}
      </List>
      <div>
        {next.step === 'connect' && unpaired ? (
          <ButtonLink to="/instances/$instanceId" params={{ instanceId: unpaired.instance_id }}>
            {t('home.first.pairButton')}
          </ButtonLink>
        ) : (
          <ButtonLink to={next.to}>{t(`home.first.${next.step}Button`)}</ButtonLink>
        )}
      </div>
    </Card>
  );
}
