import { Button, Code, Group, Text } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { useTranslation } from 'react-i18next';

/** An id, a secret or a trace id, with a button that copies it. */
export function CopyText({ label, text }: { label?: string; text: string }) {
  return (
    <Group gap={6} wrap="nowrap">
      {label && (
        <Text size="sm" c="dimmed" flex="none">
          {label}
        </Text>
      )}
      <Code className="foreign">{text}</Code>
      <CopyButton text={text} {...(label ? { label } : {})} />
    </Group>
  );
}

export function CopyButton({ label, text }: { label?: string; text: string }) {
  const { t } = useTranslation();
  const clipboard = useClipboard();
  return (
    <Button
      size="compact-xs"
      variant="default"
      flex="none"
      aria-label={label ? `${t('common.actions.copy')}: ${label}` : undefined}
      onClick={() => clipboard.copy(text)}
    >
      {clipboard.copied ? t('common.actions.copied') : t('common.actions.copy')}
    </Button>
  );
}
