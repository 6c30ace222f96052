import { Paper, Stack, Tabs, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { PairingByCode } from './pairing-by-code.tsx';
import { PairingByQr } from './pairing-by-qr.tsx';

/** Both ways to pair. The page moves on by itself once the phone has paired. */
export function Pairing({ instanceId }: { instanceId: string }) {
  const { t } = useTranslation();
  return (
    <Paper p="md">
      <Stack gap="sm">
        <Title order={2} size="h5">
          {t('instances.pairing.title')}
        </Title>
        <Tabs defaultValue="qr" keepMounted={false}>
          <Tabs.List mb="md">
            <Tabs.Tab value="qr">{t('instances.pairing.byQr')}</Tabs.Tab>
            <Tabs.Tab value="code">{t('instances.pairing.byCode')}</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="qr">
            <PairingByQr instanceId={instanceId} />
          </Tabs.Panel>
          <Tabs.Panel value="code">
            <PairingByCode instanceId={instanceId} />
          </Tabs.Panel>
        </Tabs>
      </Stack>
    </Paper>
  );
}
