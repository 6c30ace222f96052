import { Group, Paper, Stack, Text } from '@mantine/core';
import type { MediaItem } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { useMayManage } from '../../api/api-context.ts';
import { MediaView } from '../../api/media-view.tsx';
import { bytesText } from '../../components/bytes-text.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { CopyText } from '../../components/copy-text.tsx';
import { ButtonLink } from '../../components/links.tsx';
import { nameFor } from '../../components/row-button.tsx';
import { TimeText } from '../../components/time-text.tsx';

/** One stored file: shown, sent from here, or deleted. */
export function MediaCard({ file, onRemove }: { file: MediaItem; onRemove: () => void }) {
  const { t, i18n } = useTranslation();
  const mayManage = useMayManage();
  const { id, instance_id: instance, mime_type: type, file_name: name } = file;
  const label = name || type;
  return (
    <Paper p="md" component="article">
      <Stack gap="xs">
        <MediaView instanceId={instance} mediaId={id} kind={kindOf(type)} name={label} />
        <Text size="sm" fw={600} className="foreign">
          {label}
        </Text>
        <Text size="sm" c="dimmed">
          {type}, {bytesText(file.file_size, i18n.language)}, <TimeText at={file.created_at} shows="both" />
        </Text>
        <CopyText text={id} thing={label} />
        <Group gap="xs">
          <ButtonLink
            variant="default"
            to="/messages/new"
            search={{ instance, media: id, kind: sendOf(type) }}
            aria-label={nameFor(t('media.send'), label)}
          >
            {t('media.send')}
          </ButtonLink>
          {mayManage && (
            <ConfirmButton
              label={t('media.remove')}
              thing={label}
              text={t('media.removeText', { name: label })}
              busy={false}
              onConfirm={onRemove}
            />
          )}
        </Group>
      </Stack>
    </Paper>
  );
}

function kindOf(mimeType: string): 'image' | 'video' | 'audio' | 'file' {
  const [family] = mimeType.split('/');
  return family === 'image' || family === 'video' || family === 'audio' ? family : 'file';
}

/** The kind of send for a file of this type. */
function sendOf(mimeType: string): string {
  const kind = kindOf(mimeType);
  return kind === 'file' ? 'document' : kind;
}
