import { TextInput } from '@mantine/core';
import type { Instance } from '@posthorn/sdk/index.ts';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { FormCard } from '../../api/form-card.tsx';
import { PasswordField } from '../../components/password-field.tsx';
import { useGiveCredentials } from './use-instance.ts';

const FIRST = { phone_number_id: '', business_account_id: '', access_token: '', app_secret: '' };
const IDS = ['phone_number_id', 'business_account_id'] as const;
const SECRETS = ['access_token', 'app_secret'] as const;

/** Connects an official number by its credentials, or replaces them. The service asks Meta about them first. */
export function Credentials({ instance }: { instance: Instance }) {
  const { t } = useTranslation();
  const [values, setValues] = useState(FIRST);
  const give = useGiveCredentials(instance.id);
  const change = (name: keyof typeof FIRST, value: string) => setValues({ ...values, [name]: value.trim() });
  return (
    <FormCard
      title={t(instance.phone ? 'instances.credentials.replaceTitle' : 'instances.credentials.title')}
      text={t('instances.credentials.text')}
      label={t(instance.phone ? 'instances.credentials.replace' : 'instances.credentials.submit')}
      isMinor={instance.phone !== null}
      mutation={give}
      done={give.isSuccess && t('instances.credentials.given')}
      onSubmit={() => give.mutate(values, { onSuccess: () => setValues(FIRST) })}
    >
      {IDS.map((name) => (
        <TextInput
          key={name}
          label={t(`instances.credentials.${name}.label`)}
          description={t(`instances.credentials.${name}.text`)}
          required
          maw={420}
          inputMode="numeric"
          autoComplete="off"
          value={values[name]}
          onChange={(event) => change(name, event.target.value)}
        />
      ))}
      {SECRETS.map((name) => (
        <PasswordField
          key={name}
          label={t(`instances.credentials.${name}.label`)}
          hint={t(`instances.credentials.${name}.text`)}
          value={values[name]}
          onChange={(value) => change(name, value)}
        />
      ))}
    </FormCard>
  );
}
