import { NativeSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { FormCard } from '../../api/form-card.tsx';
import type { BillingChanges } from './use-billing.ts';

/** Asks for the payer's data once, before the first subscription. */
export function ProfileForm({ changes: { saveProfile } }: { changes: BillingChanges }) {
  const { t } = useTranslation();
  const [values, setValues] = useState({
    document_type: 'cpf',
    document_number: '',
    legal_name: '',
    email: '',
  });
  const set = (change: Partial<typeof values>) => setValues({ ...values, ...change });
  return (
    <FormCard
      title={t('billing.profile.title')}
      text={t('billing.profile.text')}
      label={t('billing.profile.submit')}
      mutation={saveProfile}
      onSubmit={() => saveProfile.mutate({ ...values, email: values.email || null })}
    >
      <NativeSelect
        label={t('billing.profile.kind')}
        maw={420}
        value={values.document_type}
        data={['cpf', 'cnpj'].map((value) => ({ value, label: value.toUpperCase() }))}
        onChange={(event) => set({ document_type: event.target.value })}
      />
      <TextInput
        label={t('billing.profile.number')}
        required
        maw={420}
        inputMode="numeric"
        value={values.document_number}
        onChange={(event) => set({ document_number: event.target.value })}
      />
      <TextInput
        label={t('billing.profile.name')}
        required
        maw={420}
        value={values.legal_name}
        onChange={(event) => set({ legal_name: event.target.value })}
      />
      <TextInput
        label={t('billing.profile.email')}
        type="email"
        maw={420}
        value={values.email}
        onChange={(event) => set({ email: event.target.value })}
      />
    </FormCard>
  );
}
