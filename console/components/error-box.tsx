import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CopyText } from './copy-text.tsx';

export interface ErrorBoxProps {
  title: string;
  text: string;
  code: string | null;
  traceId: string | null;
  onRetry?: (() => void) | undefined;
}

/** An error with its code and trace id, for questions to support. */
export function ErrorBox({ title, text, code, traceId, onRetry }: ErrorBoxProps) {
  const { t } = useTranslation();
  return (
    <Alert color="red" variant="outline" title={title} role="alert">
      <Stack gap="xs">
        <Text size="sm" className="foreign">
          {text}
        </Text>
        <Group gap="md">
          {code && <Code>{code}</Code>}
          {traceId && <CopyText label={t('common.fields.traceId')} text={traceId} />}
        </Group>
        {onRetry && (
          <div>
            <Button size="xs" variant="default" onClick={onRetry}>
              {t('common.actions.retry')}
            </Button>
          </div>
        )}
      </Stack>
    </Alert>
  );
}
