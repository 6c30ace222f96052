import { Button, Code, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { copyText } from './copy.ts';
import { nameFor } from './row-button.tsx';

/** How long the button shows that it has copied. */
const SAID_MS = 2_000;

/**
 * An id, a secret or a trace id, with a button that copies it. `thing`: what it belongs to, where there is one for each of
 * several.
 */
export function CopyText({ label, text, thing }: { label?: string; text: string; thing?: string }) {
  const named = [label, thing].filter(Boolean).join(' ');
  return (
    <Group gap={6} wrap="nowrap">
      {label && (
        <Text size="sm" c="dimmed" flex="none">
          {label}
        </Text>
      )}
      <Code className="foreign">{text}</Code>
      <CopyButton text={text} {...(named ? { label: named } : {})} />
    </Group>
  );
}

export function CopyButton({ label, text }: { label?: string; text: string }) {
  const { t } = useTranslation();
  const [isCopied, setCopied] = useState(false);
  const says = t(isCopied ? 'common.actions.copied' : 'common.actions.copy');
  return (
    <Button
      size="compact-xs"
      variant="default"
      flex="none"
      aria-label={label ? nameFor(says, label) : undefined}
      onClick={async () => {
        setCopied(await copyText(text));
        setTimeout(() => setCopied(false), SAID_MS);
      }}
    >
      {says}
    </Button>
  );
}
