import { Button, Code, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import type { ListedEvent } from '@posthorn/sdk/index.ts';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { useUsage } from '../../api/use-usage.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { TextLink } from '../../components/links.tsx';
import { Page } from '../../components/page.tsx';
import { Cell } from '../../components/row-table.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useAddressText } from '../../components/use-address-text.ts';
import { useSlashKey } from '../../components/use-slash-key.ts';
import { WindowRows } from '../../components/window-rows.tsx';
import { EventDrawer } from './event-drawer.tsx';
import { saveEvents } from './save-events.ts';
import { type TailFilter, useTail } from './use-tail.ts';

/** Shows events as they happen. */
export function EventsPage() {
  const { t } = useTranslation();
  const { instance, types, event: opened } = useSearch({ from: '/signed-in/shell/events' });
  const filter = { instanceId: instance, types };
  const { events, isPaused, setPaused, error, retry } = useTail(filter);
  return (
    <Page
      title={t('events.title')}
      action={
        <Group gap="xs">
          <Button variant="default" disabled={events.length === 0} onClick={() => saveEvents(events)}>
            {t('events.download')}
          </Button>
          <Button variant={isPaused ? 'filled' : 'default'} onClick={() => setPaused(!isPaused)}>
            {t(isPaused ? 'events.resume' : 'events.pause')}
          </Button>
        </Group>
      }
    >
      <Stack>
        <Filters filter={filter} />
        <Text size="sm" c="dimmed" role="status">
          {t(isPaused ? 'events.paused' : 'events.running', { count: events.length })}
        </Text>
        {error ? <ApiError error={error} onRetry={retry} /> : null}
        {events.length === 0 ? (
          !error && <EmptyState text={t('events.empty')} />
        ) : (
          <WindowRows
            head={[t('events.type'), t('events.what'), t('messages.when')]}
            rows={events}
            keyOf={({ event_id: id }) => id}
          >
            {(event) => <EventCells event={event} filter={filter} />}
          </WindowRows>
        )}
      </Stack>
      {opened && <EventDrawer key={opened} eventId={opened} filter={filter} />}
    </Page>
  );
}

function Filters({ filter }: { filter: TailFilter }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const field = useSlashKey();
  const { data: usage } = useUsage();
  const [types, setTypes] = useAddressText(filter.types);
  const go = (instance: string | undefined, wanted: string) =>
    void navigate({ to: '/events', search: { instance, types: wanted || undefined }, replace: true });
  return (
    <Group align="end">
      <form
        style={{ flex: '1 1 16rem' }}
        onSubmit={(event) => {
          event.preventDefault();
          go(filter.instanceId, types);
        }}
      >
        <TextInput
          ref={field}
          label={t('events.types')}
          placeholder="message.*, instance.connected"
          value={types}
          onChange={(event) => setTypes(event.target.value)}
        />
      </form>
      <NativeSelect
        label={t('messages.instance')}
        maw={320}
        value={filter.instanceId ?? ''}
        data={[
          { value: '', label: t('webhooks.everyInstance') },
          ...(usage?.instances ?? []).map(({ instance_id: value, name: label }) => ({ value, label })),
        ]}
        onChange={(event) => go(event.target.value || undefined, types)}
      />
    </Group>
  );
}

function EventCells({ event, filter }: { event: ListedEvent; filter: TailFilter }) {
  return (
    <>
      <Cell>
        <TextLink
          to="/events"
          search={{ instance: filter.instanceId, types: filter.types, event: event.event_id }}
          resetScroll={false}
          className="one-line"
        >
          {event.type}
        </TextLink>
      </Cell>
      <Cell>
        <Code className="one-line">{JSON.stringify(event.data).slice(0, 200)}</Code>
      </Cell>
      <Cell>
        <TimeText at={event.created_at} />
      </Cell>
    </>
  );
}
