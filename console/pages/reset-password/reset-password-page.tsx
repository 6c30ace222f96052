import { useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { AuthCard } from '../../components/auth-card.tsx';
import { ChoosePassword } from './choose-password.tsx';

export function ResetPasswordPage() {
  const { t } = useTranslation();
  const { token } = useSearch({ from: '/reset-password' });
  return (
    <AuthCard title={t('session.reset.title')}>
      <ChoosePassword to="/reset-password" token={token} label={t('session.reset.submit')} />
    </AuthCard>
  );
}
