import { useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { AuthCard } from '../../components/auth-card.tsx';
import { ChoosePassword } from './choose-password.tsx';

export function InvitePage() {
  const { t } = useTranslation();
  const { token } = useSearch({ from: '/invite' });
  return (
    <AuthCard title={t('session.invite.title')} text={t('session.invite.text')}>
      <ChoosePassword to="/invite" token={token} label={t('session.invite.submit')} />
    </AuthCard>
  );
}
