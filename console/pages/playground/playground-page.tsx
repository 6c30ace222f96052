import { SimpleGrid, Stack, Text, Title } from '@mantine/core';
import type { Playground, PlaygroundSent } from '@posthorn/sdk/index.ts';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Shown } from '../../api/shown.tsx';
import { useSendKinds } from '../../api/use-send-kinds.ts';
import { CodeTabs } from '../../components/code-tabs.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { PlaygroundForm } from './playground-form.tsx';
import { SimulatedPhone } from './simulated-phone.tsx';
import { usePlayground } from './use-playground.ts';

/** Free sends, and the simulated phone that receives them. */
export function PlaygroundPage() {
  const { t } = useTranslation();
  const state = usePlayground();
  return (
    <Page title={t('playground.title')}>
      <Shown query={state}>
        {(known) => (known.enabled ? <Sandbox state={known} /> : <EmptyState text={t('playground.off')} />)}
      </Shown>
    </Page>
  );
}

function Sandbox({ state: { kinds, budget } }: { state: Playground }) {
  const { t } = useTranslation();
  const sends = useSendKinds();
  const [sent, setSent] = useState<readonly PlaygroundSent[]>([]);
  const last = sent.at(-1);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="xl">
      <Stack>
        <Text size="sm">{t('playground.text')}</Text>
        <Text size="sm" c="dimmed">
          {t('playground.left', { ...budget })}
        </Text>
        <Shown query={sends}>
          {(all) => (
            <PlaygroundForm
              // A reaction needs a message that is there already.
              kinds={all.filter(({ path }) => path !== 'reaction' && kinds.some((kind) => kind === path))}
              onSent={(one) => setSent((before) => [...before, one])}
            />
          )}
        </Shown>
      </Stack>
      <Stack gap="lg">
        <SimulatedPhone sent={sent} />
        {last && (
          <Stack gap="xs">
            <Title order={2} size="h5">
              {t('messages.form.code')}
            </Title>
            <CodeTabs
              key={last.message_id}
              codes={{ curl: last.request.curl, sdk: last.request.sdk, msgctl: last.request.cli }}
            />
          </Stack>
        )}
      </Stack>
    </SimpleGrid>
  );
}
