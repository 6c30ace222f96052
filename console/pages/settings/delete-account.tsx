import { Checkbox } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { FormCard } from '../../api/form-card.tsx';
import { PasswordField } from '../../components/password-field.tsx';
import { useAccount } from './use-account.ts';

/** Deletes the company. It asks for the password and a tick, since this cannot be undone. */
export function DeleteAccount() {
  const { t } = useTranslation();
  const { remove } = useAccount();
  const [password, setPassword] = useState('');
  return (
    <FormCard
      title={t('settings.remove.title')}
      text={t('settings.remove.text')}
      label={t('settings.remove.submit')}
      mutation={remove}
      isDanger
      onSubmit={() => remove.mutate(password)}
    >
      <PasswordField label={t('settings.currentPassword')} value={password} onChange={setPassword} />
      <Checkbox label={t('settings.remove.sure')} required />
    </FormCard>
  );
}
