import { Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAuth } from '../../api/api-context.ts';
import { ApiError } from '../../api/api-error.tsx';
import { ProviderButtons } from '../../api/provider-buttons.tsx';
import { AuthCard } from '../../components/auth-card.tsx';
import { TextLink } from '../../components/links.tsx';
import { PasswordField } from '../../components/password-field.tsx';
import { SubmitForm } from '../../components/submit-form.tsx';

const FIELDS = [
  { name: 'owner_name', label: 'yourName', type: 'text', autoComplete: 'name' },
  { name: 'company_name', label: 'company', type: 'text', autoComplete: 'organization' },
  { name: 'owner_email', label: 'email', type: 'email', autoComplete: 'username' },
] as const;
const EMPTY = { owner_name: '', company_name: '', owner_email: '', password: '' };

export function SignUpPage() {
  const { t } = useTranslation();
  const [values, setValues] = useState(EMPTY);
  const { mutate, isPending, error, hasAccount } = useSignUp(values);
  const set = (name: keyof typeof EMPTY, value: string) => setValues({ ...values, [name]: value });
  return (
    <AuthCard title={t('session.signUp.title')}>
      <SubmitForm
        label={t('session.signUp.submit')}
        busy={isPending}
        fullWidth
        onSubmit={mutate}
        error={
          error && (
            <ApiError error={error} {...(hasAccount ? { hint: t('session.signUp.signInFailed') } : {})} />
          )
        }
      >
        {FIELDS.map(({ name, label, ...input }) => (
          <TextInput
            key={name}
            {...input}
            label={t(`session.${label}`)}
            required
            value={values[name]}
            onChange={(event) => set(name, event.target.value)}
          />
        ))}
        <PasswordField
          label={t('session.password')}
          isNew
          value={values.password}
          onChange={(password) => set('password', password)}
        />
      </SubmitForm>
      <ProviderButtons mode="signup" />
      <Text size="sm">
        {t('session.signUp.haveAccount')} <TextLink to="/login">{t('session.signUp.signIn')}</TextLink>
      </Text>
    </AuthCard>
  );
}

/** Creates the account and signs in. If only the sign-in failed, a second try does not register again. */
function useSignUp(values: typeof EMPTY) {
  const auth = useAuth();
  const navigate = useNavigate();
  const [registered, setRegistered] = useState<string | null>(null);
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => {
      if (registered !== values.owner_email) {
        await auth.stranger.auth.register({ body: values });
        setRegistered(values.owner_email);
      }
      return auth.signIn(values.owner_email, values.password);
    },
    onSuccess: () => navigate({ to: '/verify', replace: true }),
  });
  return { mutate: () => mutate(), isPending, error, hasAccount: registered !== null };
}
