import { PasswordInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useTranslation } from 'react-i18next';
import { nameFor } from './row-button.tsx';

/** A field for an existing password, for a new one with a minimum length, or, with a `hint`, for another secret. */
export function PasswordField(props: {
  label: string;
  isNew?: boolean;
  hint?: string;
  value: string;
  onChange: (password: string) => void;
}) {
  const { t } = useTranslation();
  const { label, isNew = false, hint, value, onChange } = props;
  const secret = hint ? { description: hint, autoComplete: 'off', maw: 420 } : null;
  const password = isNew
    ? { description: t('session.passwordHint'), autoComplete: 'new-password', minLength: 12 }
    : { autoComplete: 'current-password' };
  const [isShown, { set: show }] = useDisclosure(false);
  return (
    <PasswordInput
      label={label}
      {...(secret ?? password)}
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
