import { SegmentedControl, SimpleGrid, Stack } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ChosenInstance } from '../../api/chosen-instance.tsx';
import { MessageTabs } from '../../api/message-tabs.tsx';
import { Shown } from '../../api/shown.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ButtonLink } from '../../components/links.tsx';
import { MoreButton } from '../../components/more-button.tsx';
import { Page } from '../../components/page.tsx';
import { StatusCard } from './status-card.tsx';
import { useStatuses } from './use-status.ts';

const DIRECTIONS = ['outbound', 'inbound'] as const;

/** Statuses of the last day: those posted here, or those of contacts. */
export function StatusPage() {
  const { t } = useTranslation();
  const { instance } = useSearch({ from: '/signed-in/shell/messages/status' });
  return (
    <Page
      title={t('status.title')}
      action={
        instance && (
          <ButtonLink to="/messages/status/new" search={{ instance }}>
            {t('status.post')}
          </ButtonLink>
        )
      }
    >
      <ChosenInstance instance={instance} to="/messages/status">
        {instance && (
          <MessageTabs instance={instance} view="status">
            <Statuses key={instance} instanceId={instance} />
          </MessageTabs>
        )}
      </ChosenInstance>
    </Page>
  );
}

function Statuses({ instanceId }: { instanceId: string }) {
  const { t } = useTranslation();
  const [direction, setDirection] = useState<(typeof DIRECTIONS)[number]>('outbound');
  const list = useStatuses(instanceId, direction);
  return (
    <Stack>
      <SegmentedControl
        maw={420}
        aria-label={t('status.whose')}
        value={direction}
        data={DIRECTIONS.map((value) => ({ value, label: t(`status.directions.${value}`) }))}
        onChange={setDirection}
      />
      <Shown query={list}>
        {(statuses) =>
          statuses.length === 0 ? (
            <EmptyState text={t(`status.empty.${direction}`)} />
          ) : (
            <>
              <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
                {statuses.map((status) => (
                  <StatusCard key={status.status_message_id} instanceId={instanceId} status={status} />
                ))}
              </SimpleGrid>
              <MoreButton list={list} />
            </>
          )
        }
      </Shown>
    </Stack>
  );
}
