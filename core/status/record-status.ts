import { buildEvent } from '../events/build-event.ts';
import type { NewEvent } from '../events/insert-events.ts';
import { type RecorderDeps, recordUnderLease } from '../instances/create-recorder.ts';
import type { Lease, Recorded } from '../instances/lock-leases.ts';
import { readAddressesOf, readPhones } from '../lids/read-phones.ts';
import type { Sql } from '../platform/database/db.ts';
import { hashKey } from '../platform/hashes.ts';
import { isUuid, newId } from '../platform/ids.ts';
import { statusKey } from './find-status.ts';

interface Fact {
  /** The network's id of the status. */
  statusId: string;
  /** The contact who posted, viewed, reacted or replied. */
  from: string;
  at: Date;
}

/** An event around a status, as a session learns it (STA-12). */
export type StatusFact = Fact &
  (
    | {
        kind: 'posted';
        type: 'text' | 'image' | 'video' | 'audio';
        words: string;
        mediaId?: string | undefined;
      }
    | { kind: 'viewed'; receipt: 'read' | 'played' }
    /** `messageId` is the network's id of the reaction or the answer. */
    | { kind: 'reaction'; messageId: string; pushName: string; emoji: string }
    | { kind: 'reply'; messageId: string; pushName: string; replyType: string; words: string }
    | { kind: 'deleted' }
  );

export interface StatusScope {
  companyId: number;
  instanceId: string;
  lease: Lease;
}

/**
 * Records status facts in their order, each once, with its event: status.received, .viewed, .reaction,
 * .reply. A status that its author deleted leaves the feed. Throws LeaseLost.
 */
export async function recordStatusFacts(
  deps: RecorderDeps,
  scope: StatusScope,
  facts: readonly StatusFact[],
): Promise<Recorded> {
  if (facts.length === 0) return 'recorded';
  await recordUnderLease(deps, scope.lease, async ({ client: sql, now, tell }) => {
    const events: NewEvent[] = [];
    const { instanceId } = scope;
    const phoneOf = await readPhones(
      sql,
      facts.map(({ from }) => ({ instanceId, jid: from })),
    );
    for (const fact of facts) {
      const told = await record(sql, scope, fact);
      if (!told || events.some((event) => event.eventId === told.eventId)) continue;
      events.push(eventOf(scope, fact, told, { phone: phoneOf({ instanceId, jid: fact.from }), now }));
    }
    await tell(events);
  });
  return 'recorded';
}

type Told = { type: string; eventId: string; data: Record<string, unknown> } | null;

/** Writes one fact; null when it was known already, or concerns nobody. */
async function record(sql: Sql, scope: StatusScope, fact: StatusFact): Promise<Told> {
  const key = statusKey(fact.statusId);
  switch (fact.kind) {
    case 'posted':
      return recordPost(sql, scope, fact, key);
    case 'viewed':
      return recordView(sql, scope, fact, key);
    case 'deleted':
      await sql.query(
        `DELETE FROM status_feed WHERE instance_id = $1 AND status_id = $2 AND author_jid = ANY ($3)`,
        [scope.instanceId, key, await readAddressesOf(sql, scope.instanceId, fact.from)],
      );
      return null;
    case 'reaction':
      return recordOnce(sql, scope, key, fact, 'status.reaction', {
        emoji: fact.emoji,
        removed: fact.emoji === '',
      });
    case 'reply':
      return recordOnce(sql, scope, key, fact, 'status.reply', {
        reply_message_id: fact.messageId,
        reply_type: fact.replyType,
        content: fact.words,
      });
  }
}

async function recordPost(
  sql: Sql,
  { companyId, instanceId }: StatusScope,
  fact: Extract<StatusFact, { kind: 'posted' }>,
  key: string,
): Promise<Told> {
  // The event outlives the row: a status that is repeated after its deletion stays away.
  const eventId = hashKey(instanceId, 'status.received', key, fact.from);
  if (await wasTold(sql, eventId)) return null;
  const inserted = await sql.query(
    `INSERT INTO status_feed (id, company_id, instance_id, direction, status_id, author_jid, type, content,
                              media_id, posted_at)
     VALUES ($1, $2, $3, 'inbound', $4, $5, $6, $7, $8, $9) ON CONFLICT (instance_id, status_id) DO NOTHING`,
    [newId(), companyId, instanceId, key, fact.from, fact.type, fact.words, fact.mediaId ?? null, fact.at],
  );
  if (inserted.rowCount === 0) return null;
  const media = fact.mediaId ? { media_id: fact.mediaId } : {};
  return {
    type: 'status.received',
    eventId,
    data: { status_message_id: key, type: fact.type, content: fact.words, ...media },
  };
}

async function recordView(
  sql: Sql,
  { companyId, instanceId }: StatusScope,
  fact: Extract<StatusFact, { kind: 'viewed' }>,
  key: string,
): Promise<Told> {
  // They may have viewed it under another address.
  const addresses = await readAddressesOf(sql, instanceId, fact.from);
  // One row a viewer; having played it is more than having seen it, and tells once more.
  const stored = await sql.query(
    `INSERT INTO status_views AS v (instance_id, status_id, viewer_jid, company_id, receipt_type, viewed_at)
     SELECT $1::uuid, $2, $3, $4::integer, $5, $6::timestamptz
     WHERE NOT EXISTS (SELECT FROM status_views other WHERE other.instance_id = $1 AND other.status_id = $2
       AND other.viewer_jid = ANY ($7) AND other.viewer_jid <> $3 AND ($5 = 'read' OR other.receipt_type = 'played'))
     ON CONFLICT (instance_id, status_id, viewer_jid) DO UPDATE SET receipt_type = 'played'
     WHERE v.receipt_type = 'read' AND excluded.receipt_type = 'played'`,
    [instanceId, key, fact.from, companyId, fact.receipt, fact.at, addresses],
  );
  if (stored.rowCount === 0) return null;
  return {
    type: 'status.viewed',
    eventId: newId(),
    data: {
      status_message_id: key,
      status_type: await typeOf(sql, instanceId, key),
      receipt_type: fact.receipt,
    },
  };
}

/** Facts that leave no row of their own: the event, whose id is made of what happened, is the row. */
async function recordOnce(
  sql: Sql,
  { instanceId }: StatusScope,
  key: string,
  fact: Extract<StatusFact, { kind: 'reaction' | 'reply' }>,
  type: string,
  more: Record<string, unknown>,
): Promise<Told> {
  // Not of its time: networks tell seconds, and there may be two within one.
  const eventId = hashKey(instanceId, type, key, fact.from, fact.messageId);
  if (await wasTold(sql, eventId)) return null;
  const statusType = await typeOf(sql, instanceId, key);
  return {
    type,
    eventId,
    data: { push_name: fact.pushName, status_message_id: key, status_type: statusType, ...more },
  };
}

async function wasTold(sql: Sql, eventId: string): Promise<boolean> {
  return (await sql.query('SELECT 1 FROM events WHERE event_id = $1', [eventId])).rows.length > 0;
}

/**
 * Looked for in the feed, then among what we sent: a view may be recorded before the post is. One that is
 * in neither, posted from the phone itself, counts as a text.
 */
async function typeOf(sql: Sql, instanceId: string, key: string): Promise<string> {
  const found = await sql.query<{ type: string }>(
    `SELECT type FROM status_feed WHERE instance_id = $1 AND status_id = $2
     UNION ALL
     SELECT substr(type, length('status_') + 1) FROM messages
     WHERE id = $3 AND instance_id = $1 AND type LIKE 'status\\_%'
     LIMIT 1`,
    [instanceId, key, isUuid(key) ? key : null],
  );
  return found.rows[0]?.type ?? 'text';
}

function eventOf(
  scope: StatusScope,
  fact: StatusFact,
  told: NonNullable<Told>,
  { phone, now }: { phone: string; now: Date },
): NewEvent {
  const { type, eventId } = told;
  const timestamp = Math.floor(fact.at.getTime() / 1000);
  const data = { phone, from: fact.from, ...told.data, timestamp };
  return buildEvent(scope, { type, data, now, eventId });
}
