import { Code } from '@mantine/core';
import type { AuditEntry } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { useClient } from '../../api/api-context.ts';
import { Shown } from '../../api/shown.tsx';
import { useFeed } from '../../api/use-feed.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { Cell } from '../../components/row-table.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { WindowRows } from '../../components/window-rows.tsx';
import { useKeys } from './use-keys.ts';
import { useTeam } from './use-team.ts';

const PAGE = 50;

/** Lists security-relevant actions and who took them, by name as long as the user or the key exists. */
export function AuditLog() {
  const { t } = useTranslation();
  const client = useClient();
  const { team } = useTeam();
  const { keys } = useKeys();
  const whoDid = ({ token_id: keyId, user_id: userId }: AuditEntry) =>
    keyId
      ? t('settings.audit.key', { name: keys.data?.find(({ id }) => id === keyId)?.name ?? keyId })
      : (team.data?.find(({ id }) => id === userId)?.name ?? t('settings.audit.user', { id: userId ?? '–' }));
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
                <Cell>{entry.action}</Cell>
                <Cell className="foreign" style={{ minWidth: '8rem' }}>
                  {whoDid(entry)}
                </Cell>
                <Cell>
                  {Object.keys(entry.detail).length > 0 && (
                    <Code className="foreign">{JSON.stringify(entry.detail)}</Code>
                  )}
                </Cell>
                <Cell>
                  <TimeText at={entry.created_at} shows="both" />
                </Cell>
              </>
            )}
          </WindowRows>
        )
      }
    </Shown>
  );
}
