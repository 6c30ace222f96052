import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { useAddressText } from '../../components/use-address-text.ts';
import { useSlashKey } from '../../components/use-slash-key.ts';
import { DIRECTIONS, type Filters, isMessageId, readFilters, STATUSES, TYPES } from './filters.ts';

/** The search and the filters of the list, all kept in the address. `/` leads to the search. */
export function FilterBar({ filters }: { filters: Filters }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const search = useSlashKey();
  const [text, setText] = useAddressText(filters.chat);
  const { instance } = filters;
  const filter = (change: Record<string, string | undefined>) =>
    void navigate({ to: '/messages', search: readFilters({ ...filters, ...change }), replace: true });

  function find(event: FormEvent): void {
    event.preventDefault();
    const wanted = text.trim();
    if (instance && isMessageId(wanted)) {
      const params = { instanceId: instance, messageId: wanted };
      void navigate({ to: '/instances/$instanceId/messages/$messageId', params });
    } else filter({ chat: wanted || undefined });
  }
  const isFiltered = filters.chat || filters.direction || filters.status || filters.type;
  return (
    <Group align="end" gap="sm">
      <form onSubmit={find} style={{ flex: '1 1 16rem' }}>
        <TextInput
          ref={search}
          type="search"
          label={t('messages.search')}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </form>
      <NativeSelect
        label={t('messages.direction')}
        value={filters.direction ?? ''}
        data={[
          { value: '', label: t('messages.directions.all') },
          ...DIRECTIONS.map((value) => ({ value, label: t(`messages.directions.${value}`) })),
        ]}
        onChange={(event) => filter({ direction: event.target.value })}
      />
      <NativeSelect
        label={t('messages.status')}
        value={filters.status ?? ''}
        data={[
          { value: '', label: t('messages.anyStatus') },
          ...STATUSES.map((value) => ({ value, label: t(`messages.statuses.${value}`) })),
        ]}
        onChange={(event) => filter({ status: event.target.value })}
      />
      <NativeSelect
        label={t('messages.type')}
        value={filters.type ?? ''}
        data={[{ value: '', label: t('messages.anyType') }, ...TYPES]}
        onChange={(event) => filter({ type: event.target.value })}
      />
      {isFiltered && (
        <Button
          variant="default"
          onClick={() => {
            setText('');
            void navigate({ to: '/messages', search: { instance }, replace: true });
          }}
        >
          {t('common.actions.clear')}
        </Button>
      )}
    </Group>
  );
}
