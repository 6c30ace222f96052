import { Alert, Group, Text } from '@mantine/core';
import type { Session } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { TextLink } from '../components/links.tsx';

/** Says what a user who has not entered the code cannot do yet. */
export function VerifyBanner({ user }: { user: Session }) {
  const { t } = useTranslation();
  if (user.email_verified) return null;
  return (
    <Alert color="orange" variant="outline" mb="md">
      <Group justify="space-between">
        <Text size="sm">{t('session.verify.banner')}</Text>
        <TextLink to="/verify">{t('session.verify.open')}</TextLink>
      </Group>
    </Alert>
  );
}
