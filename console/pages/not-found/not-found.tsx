import { Container, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { TextLink } from '../../components/links.tsx';
import { Page } from '../../components/page.tsx';

export function NotFound() {
  const { t } = useTranslation();
  return (
    <Container component="main" size="sm" py="xl">
      <Page title={t('common.notFound.title')}>
        <Text>{t('common.notFound.text')}</Text>
        <div>
          <TextLink to="/">{t('common.notFound.home')}</TextLink>
        </div>
      </Page>
    </Container>
  );
}
