import { PasswordInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useTranslation } from 'react-i18next';
import { nameFor } from './row-button.tsx';

/** A field for an existing password, or for a new one with a minimum length. */
export function PasswordField(props: {
  label: string;
  isNew?: boolean;
  value: string;
  onChange: (password: string) => void;
}) {
  const { t } = useTranslation();
  const { label, isNew = false, value, onChange } = props;
  const [isShown, { set: show }] = useDisclosure(false);
  return (
    <PasswordInput
      label={label}
      {...(isNew ? { description: t('session.passwordHint'), minLength: 12 } : {})}
      autoComplete={isNew ? 'new-password' : 'current-password'}
      required
      visible={isShown}
      onVisibilityChange={show}
      visibilityToggleButtonProps={{
        'aria-label': nameFor(t(isShown ? 'session.hidePassword' : 'session.showPassword'), label),
        tabIndex: 0,
      }}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
