import { Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { MutationForm } from '../../api/mutation-form.tsx';
import { CopyText } from '../../components/copy-text.tsx';
import { usePairingCode } from './use-pairing-code.ts';

export function PairingByCode({ instanceId }: { instanceId: string }) {
  const { t } = useTranslation();
  const [phone, setPhone] = useState('');
  const code = usePairingCode(instanceId);
  return (
    <Stack gap="md" maw="26rem">
      <Text>{t('instances.pairing.codeText')}</Text>
      <MutationForm
        label={t('instances.pairing.codeSubmit')}
        mutation={code}
        onSubmit={() => code.mutate(phone)}
      >
        <TextInput
          label={t('instances.phone')}
          description={t('instances.pairing.phoneHint')}
          type="tel"
          required
          value={phone}
          onChange={(event) => setPhone(event.target.value)}
        />
      </MutationForm>
      {code.data && (
        <CopyText label={t('instances.pairing.codeFor', { phone: code.data.phone })} text={code.data.code} />
      )}
    </Stack>
  );
}
