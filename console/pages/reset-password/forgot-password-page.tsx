import { Alert } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAuth } from '../../api/api-context.ts';
import { MutationForm } from '../../api/mutation-form.tsx';
import { AuthCard } from '../../components/auth-card.tsx';
import { EmailInput } from '../../components/email-input.tsx';
import { TextLink } from '../../components/links.tsx';

export function ForgotPasswordPage() {
  const { t } = useTranslation();
  const { stranger } = useAuth();
  const [email, setEmail] = useState('');
  const ask = useMutation({ mutationFn: () => stranger.auth.forgotPassword({ body: { email } }) });
  return (
    <AuthCard title={t('session.forgot.title')} text={t('session.forgot.text')}>
      {ask.isSuccess && <Alert color="green">{t('session.forgot.sent')}</Alert>}
      <MutationForm label={t('session.forgot.submit')} mutation={ask} fullWidth onSubmit={() => ask.mutate()}>
        <EmailInput value={email} onChange={setEmail} />
      </MutationForm>
      <TextLink to="/login">{t('session.forgot.back')}</TextLink>
    </AuthCard>
  );
}
