import { Alert, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyText } from '../../components/copy-text.tsx';

/** Shows the secret this one time: only the answer to creating or rotating it contains it. */
export function Secret({ secret, text, done }: { secret: string; text?: string; done: ReactNode }) {
  const { t } = useTranslation();
  return (
    <Alert color="orange" variant="outline" title={t('webhooks.secretTitle')} role="status">
      <Stack align="flex-start">
        <Text size="sm">{[t('webhooks.secretText'), text].filter(Boolean).join(' ')}</Text>
        <CopyText text={secret} />
        {done}
      </Stack>
    </Alert>
  );
}
