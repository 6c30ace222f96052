import { Container } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ErrorBox } from '../components/error-box.tsx';

/** Shown in place of a page that failed to render, or whose code is gone. */
export function Crashed() {
  const { t } = useTranslation();
  return (
    <Container size="sm" py="xl">
      <ErrorBox
        title={t('common.errors.title')}
        text={t('common.errors.unknown')}
        code={null}
        traceId={null}
        onRetry={() => location.reload()}
      />
    </Container>
  );
}
