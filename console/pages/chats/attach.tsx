import { Button, FileButton, Group, Text } from '@mantine/core';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';

/** Chooses a file to send. */
export function AttachButton({ onChoose }: { onChoose: (file: File | null) => void }) {
  const { t } = useTranslation();
  const forget = useRef<() => void>(null);
  return (
    <FileButton
      resetRef={forget}
      inputProps={{ 'aria-label': t('chats.attach') }}
      onChange={(chosen) => {
        onChoose(chosen);
        // Without this the user could not choose the same file again.
        forget.current?.();
      }}
    >
      {(button) => (
        <Button {...button} variant="default" flex="none" px={{ base: 'sm', sm: 'md' }}>
          <Text span inherit visibleFrom="sm">
            {t('chats.attach')}
          </Text>
          {/* A phone needs the room for what one writes. */}
          <Text span inherit hiddenFrom="sm" role="img" aria-label={t('chats.attach')}>
            +
          </Text>
        </Button>
      )}
    </FileButton>
  );
}

/** The file that goes with the message, until it is taken out. */
export function AttachedFile({ name, onDetach }: { name: string; onDetach: () => void }) {
  const { t } = useTranslation();
  return (
    <Group gap="xs" justify="space-between" wrap="nowrap">
      <Text size="sm" className="one-line">
        {name}
      </Text>
      <Button size="compact-xs" variant="default" flex="none" onClick={onDetach}>
        {t('chats.detach')}
      </Button>
    </Group>
  );
}
