import { Group, Paper, Stack, Text } from '@mantine/core';
import type { StatusItem } from '@posthorn/sdk/index.ts';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMayManage } from '../../api/api-context.ts';
import { MediaView } from '../../api/media-view.tsx';
import { Shown } from '../../api/shown.tsx';
import { RowButton, shortText } from '../../components/row-button.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useViews } from './use-status.ts';

/** One status as people see it; for the account's own status, also its viewers. */
export function StatusCard({ instanceId, status }: { instanceId: string; status: StatusItem }) {
  const { t } = useTranslation();
  const mayManage = useMayManage();
  const [isAsked, ask] = useState(false);
  const { status_message_id: id, media_id: mediaId, type, content, direction, phone } = status;
  return (
    <Paper p="md" component="article">
      <Stack gap="xs">
        {mediaId && type !== 'text' && (
          <MediaView instanceId={instanceId} mediaId={mediaId} kind={type} name={content || type} />
        )}
        {content && (
          <Text size="sm" className="foreign">
            {content}
          </Text>
        )}
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            {direction === 'inbound' && `${phone}, `}
            <TimeText at={status.posted_at} shows="both" />
          </Text>
          {direction === 'outbound' && mayManage && !isAsked && (
            <RowButton
              label={t('status.views')}
              thing={shortText(content) || type}
              onClick={() => ask(true)}
            />
          )}
        </Group>
        {isAsked && <Views instanceId={instanceId} statusId={id} />}
      </Stack>
    </Paper>
  );
}

function Views({ instanceId, statusId }: { instanceId: string; statusId: string }) {
  const { t } = useTranslation();
  const views = useViews(instanceId, statusId);
  return (
    <Shown query={views}>
      {({ count, viewers }) => (
        <Stack gap={4} role="status">
          <Text size="sm">{t('status.seenBy', { count })}</Text>
          {viewers.map(({ jid, phone, viewed_at: at }) => (
            <Text key={jid} size="sm" c="dimmed">
              {phone || jid}, <TimeText at={at} shows="both" />
            </Text>
          ))}
        </Stack>
      )}
    </Shown>
  );
}
