import { type RecorderDeps, recordUnderLease } from '../instances/create-recorder.ts';
import type { Lease } from '../instances/lock-leases.ts';
import type { NetworkFact } from '../network/facts.ts';

interface Scope {
  companyId: number;
  instanceId: string;
  lease: Lease;
}

type ChatFact = Extract<NetworkFact, { kind: 'chat' }>;
type ContactFact = Extract<NetworkFact, { kind: 'contact' | 'blocked' }>;

/**
 * Records states of chats, each field by its highest revision (CHT-4). A reading that comes here, in the order of the
 * messages, also says that all before it are read; it says so once, however often the network repeats it. Throws
 * LeaseLost.
 */
export async function recordChatFacts(
  deps: RecorderDeps,
  { companyId, instanceId, lease }: Scope,
  facts: readonly ChatFact[],
): Promise<void> {
  const rows = [...Map.groupBy(facts, ({ chat }) => chat)].map(([chat, of]) => ({ chat, ...merged(of) }));
  await recordUnderLease(deps, lease, ({ client, now }) =>
    client.query({
      name: 'chats-record-facts',
      text: CHAT_FACTS,
      values: [instanceId, companyId, JSON.stringify(rows), now],
    }),
  );
}

/** The latest of each field, and by which revision. */
function merged(facts: readonly ChatFact[]) {
  const latest = <K extends 'archived' | 'pinned' | 'mutedUntil' | 'read'>(field: K) =>
    facts
      .filter((fact) => fact[field] !== undefined)
      .reduce<ChatFact | null>((a, b) => (a && a.revision > b.revision ? a : b), null);
  const [archived, pinned, muted, read] = [
    latest('archived'),
    latest('pinned'),
    latest('mutedUntil'),
    latest('read'),
  ];
  const lastReading = facts.filter(({ read }) => read).map(({ revision }) => revision);
  return {
    at: facts[0]!.at,
    archived: archived?.archived ?? false,
    archivedRevision: archived?.revision ?? 0,
    pinned: pinned?.pinned ?? false,
    pinnedRevision: pinned?.revision ?? 0,
    mutedUntil: muted?.mutedUntil ?? null,
    mutedRevision: muted?.revision ?? 0,
    markedUnread: read ? !read.read : false,
    readRevision: read?.revision ?? 0,
    readingRevision: Math.max(0, ...lastReading),
  };
}

const CHAT_FACTS = `
INSERT INTO chats AS c (instance_id, company_id, chat_jid, archived, archived_revision, pinned, pinned_revision,
                        muted_until, muted_revision, marked_unread, read_revision, read_echo_revision, active_at,
                        updated_at)
SELECT $1, $2, chat, archived, "archivedRevision", pinned, "pinnedRevision", "mutedUntil", "mutedRevision",
       "markedUnread", "readRevision", "readingRevision", at, $4
FROM json_to_recordset($3) AS w (chat text, archived boolean, "archivedRevision" bigint, pinned boolean,
  "pinnedRevision" bigint, "mutedUntil" bigint, "mutedRevision" bigint, "markedUnread" boolean, "readRevision" bigint,
  "readingRevision" bigint, at timestamptz)
WHERE EXISTS (SELECT 1 FROM instances WHERE id = $1)
ORDER BY chat COLLATE "C"
ON CONFLICT (instance_id, chat_jid) DO UPDATE SET
  archived = CASE WHEN excluded.archived_revision > c.archived_revision THEN excluded.archived ELSE c.archived END,
  archived_revision = greatest(c.archived_revision, excluded.archived_revision),
  pinned = CASE WHEN excluded.pinned_revision > c.pinned_revision THEN excluded.pinned ELSE c.pinned END,
  pinned_revision = greatest(c.pinned_revision, excluded.pinned_revision),
  muted_until = CASE WHEN excluded.muted_revision > c.muted_revision THEN excluded.muted_until ELSE c.muted_until END,
  muted_revision = greatest(c.muted_revision, excluded.muted_revision),
  unread_count = CASE WHEN excluded.read_echo_revision > c.read_echo_revision THEN 0 ELSE c.unread_count END,
  read_echo_revision = greatest(c.read_echo_revision, excluded.read_echo_revision),
  marked_unread = CASE WHEN excluded.read_revision > c.read_revision THEN excluded.marked_unread
                  ELSE c.marked_unread END,
  read_revision = greatest(c.read_revision, excluded.read_revision),
  updated_at = excluded.updated_at`;

/** Records who is saved under which name, and who is blocked, by the highest revision (CHT-5). Throws LeaseLost. */
export async function recordContactFacts(
  deps: RecorderDeps,
  { companyId, instanceId, lease }: Scope,
  facts: readonly ContactFact[],
): Promise<void> {
  const rows = [...Map.groupBy(facts, ({ jid }) => jid)].map(([jid, of]) => {
    const row = { jid, name: '', nameRevision: 0, blocked: false, blockedRevision: 0 };
    for (const fact of of) {
      if (fact.kind === 'contact' && fact.revision > row.nameRevision) {
        Object.assign(row, { name: fact.name, nameRevision: fact.revision });
      } else if (fact.kind === 'blocked' && fact.revision > row.blockedRevision) {
        Object.assign(row, { blocked: fact.blocked, blockedRevision: fact.revision });
      }
    }
    return row;
  });
  await recordUnderLease(deps, lease, ({ client, now }) =>
    client.query({
      name: 'contacts-record-facts',
      text: CONTACT_FACTS,
      values: [instanceId, companyId, JSON.stringify(rows), now],
    }),
  );
}

const CONTACT_FACTS = `
INSERT INTO contacts AS c (instance_id, company_id, jid, name, name_revision, blocked, blocked_revision, updated_at)
SELECT $1, $2, jid, name, "nameRevision", blocked, "blockedRevision", $4
FROM json_to_recordset($3) AS w (jid text, name text, "nameRevision" bigint, blocked boolean, "blockedRevision" bigint)
WHERE EXISTS (SELECT 1 FROM instances WHERE id = $1)
ORDER BY jid COLLATE "C"
ON CONFLICT (instance_id, jid) DO UPDATE SET
  name = CASE WHEN excluded.name_revision > c.name_revision THEN excluded.name ELSE c.name END,
  name_revision = greatest(c.name_revision, excluded.name_revision),
  blocked = CASE WHEN excluded.blocked_revision > c.blocked_revision THEN excluded.blocked ELSE c.blocked END,
  blocked_revision = greatest(c.blocked_revision, excluded.blocked_revision),
  updated_at = excluded.updated_at`;
