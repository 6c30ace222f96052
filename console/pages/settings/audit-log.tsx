import { Code, Table } from '@mantine/core';
import type { AuditEntry } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { useClient } from '../../api/api-context.ts';
import { Shown } from '../../api/shown.tsx';
import { useFeed } from '../../api/use-feed.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { WindowRows } from '../../components/window-rows.tsx';

const PAGE = 50;

/** Lists security-relevant actions and who took them. */
export function AuditLog() {
  const { t } = useTranslation();
  const client = useClient();
  const log = useFeed<AuditEntry, number>({
    queryKey: ['audit'],
    idOf: ({ id }) => id,
    read: async (before, signal) => {
      const query = { before, limit: PAGE };
      const { data, next_before: next } = await client.audit.list({ query }, { ...(signal && { signal }) });
      return { rows: data, next: next ?? undefined };
    },
  });
  return (
    <Shown query={log}>
      {(entries) =>
        entries.length === 0 ? (
          <EmptyState text={t('settings.audit.empty')} />
        ) : (
          <WindowRows
            head={[
              t('settings.audit.action'),
              t('settings.audit.by'),
              t('settings.audit.detail'),
              t('messages.when'),
            ]}
            rows={entries}
            keyOf={({ id }) => id}
            list={log}
          >
            {(entry) => (
              <>
                <Table.Td>{entry.action}</Table.Td>
                <Table.Td>
                  {entry.token_id
                    ? t('settings.audit.key', { id: entry.token_id })
                    : t('settings.audit.user', { id: entry.user_id ?? '–' })}
                </Table.Td>
                <Table.Td>
                  <Code className="one-line">{JSON.stringify(entry.detail)}</Code>
                </Table.Td>
                <Table.Td>
                  <TimeText at={entry.created_at} />
                </Table.Td>
              </>
            )}
          </WindowRows>
        )
      }
    </Shown>
  );
}
