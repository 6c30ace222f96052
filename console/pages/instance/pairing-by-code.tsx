import { Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { CopyText } from '../../components/copy-text.tsx';
import { SubmitForm } from '../../components/submit-form.tsx';
import { usePairingCode } from './use-pairing-code.ts';

export function PairingByCode({ instanceId }: { instanceId: string }) {
  const { t } = useTranslation();
  const [phone, setPhone] = useState('');
  const code = usePairingCode(instanceId);
  return (
    <Stack gap="md" maw="26rem">
      <Text>{t('instances.pairing.codeText')}</Text>
      <SubmitForm
        label={t('instances.pairing.codeSubmit')}
        busy={code.isPending}
        onSubmit={() => code.mutate(phone)}
        error={code.error && <ApiError error={code.error} />}
      >
        <TextInput
          label={t('instances.phone')}
          description={t('instances.pairing.phoneHint')}
          type="tel"
          required
          value={phone}
          onChange={(event) => setPhone(event.target.value)}
        />
      </SubmitForm>
      {code.data && (
        <CopyText label={t('instances.pairing.codeFor', { phone: code.data.phone })} text={code.data.code} />
      )}
    </Stack>
  );
}
