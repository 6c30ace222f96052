import { TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';

/** The address that an account signs in with. */
export function EmailInput({ value, onChange }: { value: string; onChange(email: string): void }) {
  const { t } = useTranslation();
  return (
    <TextInput
      label={t('session.email')}
      type="email"
      autoComplete="username"
      required
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
