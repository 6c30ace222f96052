import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useUser } from '../../api/api-context.ts';
import { FormCard } from '../../api/form-card.tsx';
import { PasswordField } from '../../components/password-field.tsx';
import { useAccount } from './use-account.ts';

/** Asks for the new address and the password, then for the code mailed to that address. */
export function EmailChange() {
  const { t } = useTranslation();
  const { email } = useUser();
  const { startEmail, confirmEmail } = useAccount();
  const [address, setAddress] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  if (startEmail.isSuccess)
    return (
      <FormCard
        title={t('settings.email.title')}
        text={t('settings.email.sent', { email: address })}
        label={t('settings.email.confirm')}
        mutation={confirmEmail}
        isMinor
        onSubmit={() => confirmEmail.mutate(code)}
      >
        <TextInput
          label={t('session.verify.code')}
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          value={code}
          onChange={(event) => setCode(event.target.value)}
        />
      </FormCard>
    );
  return (
    <FormCard
      title={t('settings.email.title')}
      text={t('settings.email.now', { email })}
      label={t('settings.email.submit')}
      mutation={startEmail}
      isMinor
      onSubmit={() => startEmail.mutate({ new_email: address, current_password: password })}
    >
      <TextInput
        label={t('settings.email.address')}
        type="email"
        required
        value={address}
        onChange={(event) => setAddress(event.target.value)}
      />
      <PasswordField label={t('settings.currentPassword')} value={password} onChange={setPassword} />
    </FormCard>
  );
}
