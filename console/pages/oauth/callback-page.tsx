import { Loader } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Navigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { useAuth, useAuthState } from '../../api/api-context.ts';
import { ApiError } from '../../api/api-error.tsx';
import { AuthCard } from '../../components/auth-card.tsx';
import { TextLink } from '../../components/links.tsx';

/** The last page of a login with Google or GitHub: the cookies are set, and only the token is missing. */
export function CallbackPage() {
  const { t } = useTranslation();
  const { arrive } = useAuth();
  const { user } = useAuthState();
  const { mutate, error, isSuccess } = useMutation({ mutationFn: arrive });
  useEffect(() => mutate(), [mutate]);
  if (user) return <Navigate to="/" replace />;
  if (isSuccess) return <Navigate to="/login" search={{ oauth_error: 'OAUTH_STATE_INVALID' }} replace />;
  return (
    <AuthCard title={t('session.oauth.callback')}>
      {error ? <ApiError error={error} onRetry={() => mutate()} /> : <Loader role="status" />}
      {error && <TextLink to="/login">{t('session.forgot.back')}</TextLink>}
    </AuthCard>
  );
}
