import { TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAuth } from '../../api/api-context.ts';
import { MutationForm } from '../../api/mutation-form.tsx';
import { AuthCard } from '../../components/auth-card.tsx';
import { TextLink } from '../../components/links.tsx';

/** Completes a sign-up that began at Google or GitHub. It removes the pending token from the address at once. */
export function CompletePage() {
  const { t } = useTranslation();
  const auth = useAuth();
  const navigate = useNavigate();
  const search = useSearch({ from: '/oauth/complete' });
  const [token] = useState(search.token ?? '');
  const [company, setCompany] = useState('');
  useEffect(() => {
    if (token) void navigate({ to: '/oauth/complete', search: { token: undefined }, replace: true });
  }, [token, navigate]);
  const complete = useMutation({
    mutationFn: () => auth.completeSignup(token, company),
    onSuccess: () => navigate({ to: '/', replace: true }),
  });
  return (
    <AuthCard title={t('session.oauth.title')} text={t('session.oauth.text')}>
      <MutationForm
        label={t('session.oauth.submit')}
        mutation={complete}
        fullWidth
        onSubmit={() => complete.mutate()}
      >
        <TextInput
          label={t('session.company')}
          autoComplete="organization"
          required
          value={company}
          onChange={(event) => setCompany(event.target.value)}
        />
      </MutationForm>
      <TextLink to="/login">{t('session.forgot.back')}</TextLink>
    </AuthCard>
  );
}
