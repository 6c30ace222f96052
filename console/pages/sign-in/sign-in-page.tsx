import { Alert, Group, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAuth, useAuthState } from '../../api/api-context.ts';
import { textOfCode } from '../../api/api-error.tsx';
import { MutationForm } from '../../api/mutation-form.tsx';
import { ProviderButtons } from '../../api/provider-buttons.tsx';
import { AuthCard } from '../../components/auth-card.tsx';
import { EmailInput } from '../../components/email-input.tsx';
import { TextLink } from '../../components/links.tsx';
import { PasswordField } from '../../components/password-field.tsx';

export function SignInPage() {
  const { t } = useTranslation();
  const auth = useAuth();
  const { user } = useAuthState();
  const { next } = useSearch({ from: '/login' });
  const router = useRouter();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const signIn = useMutation({ mutationFn: () => auth.signIn(email, password) });
  useEffect(() => {
    if (user) goOn(router, user.email_verified, next);
  }, [user, next, router]);
  return (
    <AuthCard title={t('session.signIn.title')}>
      <Notice />
      <MutationForm
        label={t('session.signIn.submit')}
        mutation={signIn}
        fullWidth
        onSubmit={() => signIn.mutate()}
      >
        <EmailInput value={email} onChange={setEmail} />
        <PasswordField label={t('session.password')} value={password} onChange={setPassword} />
      </MutationForm>
      <ProviderButtons mode="login" />
      <Group justify="space-between">
        <TextLink to="/forgot-password">{t('session.signIn.forgot')}</TextLink>
        <Text size="sm">
          {t('session.signIn.noAccount')} <TextLink to="/sign-up">{t('session.signIn.signUp')}</TextLink>
        </Text>
      </Group>
    </AuthCard>
  );
}

/** Says why the user is on this page, if it is not obvious. */
function Notice() {
  const { t } = useTranslation();
  const { ended } = useAuthState();
  const { oauth_error, done } = useSearch({ from: '/login' });
  if (oauth_error)
    return <Alert color="red">{textOfCode(t, oauth_error) ?? t('common.errors.unknown')}</Alert>;
  if (done === 'password') return <Alert color="green">{t('session.signIn.passwordSet')}</Alert>;
  if (ended === 'expired') return <Alert color="orange">{t('session.signIn.ended')}</Alert>;
  return null;
}

/** Goes to the page that the user wanted, but only within the console. */
function goOn(router: ReturnType<typeof useRouter>, isVerified: boolean, next: string | undefined): void {
  if (!isVerified) void router.navigate({ to: '/verify', replace: true });
  else if (next && /^\/(?![/\\])/.test(next)) router.history.replace(router.basepath + next);
  else void router.navigate({ to: '/', replace: true });
}
