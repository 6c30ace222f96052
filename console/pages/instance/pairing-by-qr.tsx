import { Group, Skeleton, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { QrPicture } from '../../components/qr-picture.tsx';
import { useSecondsUntil } from '../../components/use-seconds-until.ts';
import { useQr } from './use-pairing-code.ts';

const SIZE_PX = 240;

export function PairingByQr({ instanceId }: { instanceId: string }) {
  const { t } = useTranslation();
  const { data: code, error, refetch } = useQr(instanceId);
  if (error) return <ApiError error={error} onRetry={() => void refetch()} />;
  return (
    <Group align="flex-start" gap="lg">
      {code ? (
        <QrPicture text={code.qr} size={SIZE_PX} label={t('instances.pairing.qrLabel')} />
      ) : (
        <Skeleton width={SIZE_PX} height={SIZE_PX} />
      )}
      <Stack gap="xs" maw="22rem">
        <Text>{t('instances.pairing.qrText')}</Text>
        {code ? <Renewal at={code.expires_at} /> : <Text c="dimmed">{t('instances.pairing.waiting')}</Text>}
      </Stack>
    </Group>
  );
}

function Renewal({ at }: { at: string }) {
  const { t } = useTranslation();
  const seconds = useSecondsUntil(at);
  return <Text c="dimmed">{t('instances.pairing.renewsIn', { seconds })}</Text>;
}
