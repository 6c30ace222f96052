import { Drawer, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useClient } from '../../api/api-context.ts';
import { Shown } from '../../api/shown.tsx';
import { useClose } from '../../api/use-close.ts';
import { BodyText } from '../../components/body-text.tsx';
import { CopyText } from '../../components/copy-text.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useFocusBack } from '../../components/use-focus-back.ts';
import type { TailFilter } from './use-tail.ts';

/** The whole of one event. */
export function EventDrawer({ eventId, filter }: { eventId: string; filter: TailFilter }) {
  const { t } = useTranslation();
  const client = useClient();
  const navigate = useNavigate();
  useFocusBack();
  const event = useQuery({
    queryKey: ['events', eventId],
    queryFn: ({ signal }) => client.events.get({ eventId }, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const search = { instance: filter.instanceId, types: filter.types };
  const close = useClose(() => void navigate({ to: '/events', search, replace: true, resetScroll: false }));
  return (
    <Drawer
      opened
      position="right"
      size="lg"
      title={event.data?.type ?? t('events.event')}
      closeButtonProps={{ 'aria-label': t('common.actions.back') }}
      onClose={close}
    >
      <Stack>
        <CopyText label={t('common.fields.id')} text={eventId} />
        <Shown query={event}>
          {(whole) => (
            <>
              <Text size="sm">
                <TimeText at={whole.created_at} shows="both" />
              </Text>
              <BodyText text={JSON.stringify(whole)} label={t('events.event')} mah="calc(100dvh - 11rem)" />
            </>
          )}
        </Shown>
      </Stack>
    </Drawer>
  );
}
