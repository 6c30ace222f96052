import { Alert } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAuth } from '../../api/api-context.ts';
import { MutationForm } from '../../api/mutation-form.tsx';
import { TextLink } from '../../components/links.tsx';
import { PasswordField } from '../../components/password-field.tsx';

/** Sets the password with the token of a mailed link. It removes the token from the address at once. */
export function ChoosePassword(props: {
  to: '/reset-password' | '/invite';
  token: string | undefined;
  label: string;
}) {
  const { t } = useTranslation();
  const { stranger, forget } = useAuth();
  const navigate = useNavigate();
  const [token] = useState(props.token);
  const [password, setPassword] = useState('');
  const { to } = props;
  useEffect(() => {
    if (token) void navigate({ to, search: { token: undefined }, replace: true });
  }, [token, to, navigate]);
  const choose = useMutation({
    mutationFn: () => stranger.auth.resetPassword({ body: { token: token ?? '', password } }),
    onSuccess: () => {
      forget();
      return navigate({ to: '/login', search: { done: 'password' } });
    },
  });
  if (!token)
    return (
      <>
        <Alert color="orange">{t('session.reset.noToken')}</Alert>
        <TextLink to="/forgot-password">{t('session.reset.again')}</TextLink>
      </>
    );
  return (
    <>
      <MutationForm label={props.label} mutation={choose} fullWidth onSubmit={() => choose.mutate()}>
        <PasswordField label={t('session.newPassword')} isNew value={password} onChange={setPassword} />
      </MutationForm>
      {choose.error && <TextLink to="/forgot-password">{t('session.reset.again')}</TextLink>}
    </>
  );
}
