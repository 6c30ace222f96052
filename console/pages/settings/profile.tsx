import { Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useUser } from '../../api/api-context.ts';
import { FormCard } from '../../api/form-card.tsx';
import { PasswordField } from '../../components/password-field.tsx';
import { DeleteAccount } from './delete-account.tsx';
import { EmailChange } from './email-change.tsx';
import { useAccount } from './use-account.ts';

export function Profile() {
  const { role } = useUser();
  return (
    <Stack maw={640}>
      <Name />
      {role === 'owner' && <CompanyName />}
      <EmailChange />
      <Password />
      {role === 'owner' && <DeleteAccount />}
    </Stack>
  );
}

function Name() {
  const { t } = useTranslation();
  const user = useUser();
  const { rename } = useAccount();
  const [name, setName] = useState(user.name);
  return (
    <FormCard
      title={t('settings.name.title')}
      label={t('settings.name.submit')}
      mutation={rename}
      isMinor
      done={rename.isSuccess && t('settings.saved')}
      onSubmit={() => rename.mutate({ name })}
    >
      <TextInput
        label={t('session.yourName')}
        required
        maxLength={255}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
    </FormCard>
  );
}

function CompanyName() {
  const { t } = useTranslation();
  const { rename } = useAccount();
  const [name, setName] = useState('');
  return (
    <FormCard
      title={t('settings.company.title')}
      label={t('settings.company.submit')}
      mutation={rename}
      isMinor
      done={rename.isSuccess && t('settings.saved')}
      onSubmit={() => rename.mutate({ company_name: name })}
    >
      <TextInput
        label={t('settings.company.name')}
        required
        maxLength={255}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
    </FormCard>
  );
}

function Password() {
  const { t } = useTranslation();
  const { changePassword } = useAccount();
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  return (
    <FormCard
      title={t('settings.password.title')}
      text={t('settings.password.text')}
      label={t('settings.password.submit')}
      mutation={changePassword}
      isMinor
      onSubmit={() => changePassword.mutate({ current_password: current, new_password: next })}
    >
      <PasswordField label={t('settings.currentPassword')} value={current} onChange={setCurrent} />
      <PasswordField label={t('session.newPassword')} isNew value={next} onChange={setNext} />
    </FormCard>
  );
}
