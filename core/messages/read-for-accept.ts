import { DUPLICATE_CONTENT_WINDOW_S } from '@posthorn/contract/limits.ts';
import { holdSql } from '../access/company-hold.ts';
import type { Sql } from '../platform/db.ts';
import { statementOfRows } from '../platform/input-rows.ts';
import type { AcceptKnowledge, EarlierSend, InstanceRow } from './accept-sql.ts';

/** What is looked up for one send. */
export interface WantedForSend {
  instanceId: string;
  keyId: string;
  contentId?: string | undefined;
  chatJid?: string | undefined;
  quotedId?: string | undefined;
}

/**
 * Reads what decides. The locks must be held by a statement before: this one's snapshot is then taken under
 * them and sees whatever the previous holder committed. `idleAt` says by instance above which seq to look for tasks.
 */
export async function readForAccept(
  client: Sql,
  wanted: { sends: readonly WantedForSend[]; now: Date; idleAt: ReadonlyMap<string, number> },
): Promise<AcceptKnowledge> {
  const sends = wanted.sends.map((send) => ({ ...send, idleAt: wanted.idleAt.get(send.instanceId) }));
  const since = new Date(wanted.now.getTime() - DUPLICATE_CONTENT_WINDOW_S * 1000);
  const quotes = sends.some(({ quotedId }) => quotedId !== undefined);
  const { rows } = await client.query<ReadRow>((quotes ? READ_WITH_QUOTED : READ)({ sends }, { since }));
  const known: AcceptKnowledge = {
    instances: new Map(),
    keys: new Map(),
    contents: new Map(),
    contacts: new Map(),
    contactRows: new Map(),
    quoted: new Map(),
  };
  for (const row of rows) note(known, row);
  if (known.keys.size > 0) await readStatuses(client, known.keys);
  return known;
}

function note(known: AcceptKnowledge, row: ReadRow): void {
  known.instances.set(row.id, row);
  if (row.key_id !== null)
    known.keys.set(row.key_id, {
      status: 'queued',
      messageId: row.message_id,
      taskId: row.task_id,
      bodyHash: row.body_hash,
      createdAtMs: row.key_ms,
    });
  if (row.content_ms !== null) known.contents.set(row.content_id, new Date(row.content_ms).toISOString());
  if (row.guard_ms !== null)
    known.contacts.set(`${row.id} ${row.chat_jid}`, {
      outboundConsecutive: row.consecutive,
      score: row.score,
      scoreAtMs: row.guard_ms,
    });
  if (row.quoted_id != null)
    known.quoted.set(row.quoted_id, { instance_id: row.quoted_instance!, network_id: row.quoted_network! });
}

/** A send that is repeated is rare: what became of it is a question of its own. */
async function readStatuses(client: Sql, keys: ReadonlyMap<string, EarlierSend>): Promise<void> {
  const found = await client.query<{ id: string; status: EarlierSend['status'] }>({
    name: 'accept-read-statuses',
    text: STATUSES,
    values: [[...keys.keys()]],
  });
  for (const { id, status } of found.rows) keys.get(id)!.status = status;
}

/** One for each send of an instance that exists. */
interface ReadRow extends InstanceRow {
  key_id: string | null;
  body_hash: string;
  message_id: string;
  task_id: string;
  key_ms: number;
  content_id: string;
  content_ms: number | null;
  chat_jid: string;
  consecutive: number;
  score: number;
  guard_ms: number | null;
  quoted_id?: string | null;
  quoted_instance?: string;
  quoted_network?: string | null;
}

const msSql = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`;

const reading = ({ name, withQuoted }: { name: string; withQuoted: boolean }) =>
  statementOfRows({
    name,
    sets: {
      sends: {
        instanceId: 'uuid',
        keyId: 'uuid',
        contentId: 'uuid',
        chatJid: 'text',
        quotedId: 'uuid',
        idleAt: 'bigint',
      },
    },
    values: ['since'],
    text: ({ sends, since }) => `
WITH sends AS ${sends}
SELECT i.id, i.company_id, i.shard, i.state, ${holdSql('c')} AS hold, d.lacks, i.settings,
       EXISTS (SELECT FROM outbox b WHERE b.instance_id = i.id AND b.seq > w."idleAt") AS "isBusy",
       k.id AS key_id, k.body_hash, k.message_id, k.task_id, ${msSql('k.created_at')} AS key_ms,
       w."contentId" AS content_id, ${msSql('o.created_at')} AS content_ms,
       w."chatJid" AS chat_jid, g.outbound_consecutive AS consecutive, g.score, ${msSql('g.score_at')} AS guard_ms
       ${withQuoted ? ', q.id AS quoted_id, q.instance_id AS quoted_instance, q.network_id AS quoted_network' : ''}
FROM sends w
JOIN instances i ON i.id = ANY (ARRAY[w."instanceId"])
JOIN companies c ON c.id = ANY (ARRAY[i.company_id])
LEFT JOIN network_drivers d ON d.name = ANY (ARRAY[i.driver])
LEFT JOIN idempotency_keys k ON k.id = ANY (ARRAY[w."keyId"])
LEFT JOIN idempotency_keys o ON o.content_id = ANY (ARRAY[w."contentId"]) AND o.created_at > ${since}
LEFT JOIN chat_guards g ON g.instance_id = ANY (ARRAY[w."instanceId"]) AND g.chat_jid = w."chatJid"
${withQuoted ? 'LEFT JOIN messages q ON q.id = ANY (ARRAY[w."quotedId"])' : ''}`,
  });

const READ = reading({ name: 'accept-read', withQuoted: false });
const READ_WITH_QUOTED = reading({ name: 'accept-read-quoted', withQuoted: true });

const STATUSES = `
SELECT k.id, CASE
  -- a change: its message's state is not its own
  WHEN k.message_id <> k.task_id
  THEN coalesce((SELECT f.status FROM finished_changes f WHERE f.task_id = k.task_id), 'queued')
  WHEN m.status IN ('queued', 'failed') THEN m.status WHEN m.status IS NULL THEN 'queued' ELSE 'sent' END AS status
FROM idempotency_keys k LEFT JOIN messages m ON m.id = ANY (ARRAY[k.message_id])
WHERE k.id = ANY ($1::uuid[])`;
