import { Alert, Button, Group, TextInput } from '@mantine/core';
import { PosthornError } from '@posthorn/sdk/index.ts';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAuth, useUser } from '../../api/api-context.ts';
import { ApiError } from '../../api/api-error.tsx';
import { AuthCard } from '../../components/auth-card.tsx';
import { TextLink } from '../../components/links.tsx';
import { SubmitForm } from '../../components/submit-form.tsx';

export function VerifyEmailPage() {
  const { t } = useTranslation();
  const { email, email_verified } = useUser();
  const { client } = useAuth();
  const navigate = useNavigate();
  const [code, setCode] = useState('');
  const verify = useVerify(code);
  const resend = useMutation({ mutationFn: () => client.auth.resendVerification() });
  useEffect(() => {
    if (email_verified) void navigate({ to: '/', replace: true });
  }, [email_verified, navigate]);
  const error = verify.error ?? resend.error;
  return (
    <AuthCard title={t('session.verify.title')} text={t('session.verify.text', { email })}>
      {resend.isSuccess && <Alert color="green">{t('session.verify.resent')}</Alert>}
      <SubmitForm
        label={t('session.verify.submit')}
        busy={verify.isPending}
        fullWidth
        onSubmit={() => verify.mutate()}
        error={error && <ApiError error={error} />}
      >
        <TextInput
          label={t('session.verify.code')}
          inputMode="numeric"
          autoComplete="one-time-code"
          pattern="\s*\d{6}\s*"
          required
          value={code}
          onChange={(event) => setCode(event.target.value)}
        />
      </SubmitForm>
      <Group justify="space-between">
        <Button variant="default" size="xs" loading={resend.isPending} onClick={() => resend.mutate()}>
          {t('session.verify.resend')}
        </Button>
        <TextLink to="/">{t('session.verify.later')}</TextLink>
      </Group>
    </AuthCard>
  );
}

/** Verifies the address. Another tab, or an earlier try whose answer was lost, may have done so already. */
function useVerify(code: string) {
  const auth = useAuth();
  return useMutation({
    mutationFn: async () => {
      try {
        await auth.client.auth.verifyEmail({ body: { code: code.trim() } });
      } catch (error) {
        if (!(error instanceof PosthornError) || error.code !== 'EMAIL_ALREADY_VERIFIED') throw error;
      }
      await auth.renew();
    },
  });
}
