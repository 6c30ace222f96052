import { PasswordInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';

/** A field for an existing password, or for a new one with a minimum length. */
export function PasswordField(props: {
  label: string;
  isNew?: boolean;
  value: string;
  onChange: (password: string) => void;
}) {
  const { t } = useTranslation();
  const { label, isNew = false, value, onChange } = props;
  return (
    <PasswordInput
      label={label}
      {...(isNew ? { description: t('session.passwordHint'), minLength: 12 } : {})}
      autoComplete={isNew ? 'new-password' : 'current-password'}
      required
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
