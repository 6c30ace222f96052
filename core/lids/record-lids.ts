import { isLidJid, isUserJid, jidOfPhone } from '@posthorn/contract/jid.ts';
import type { InstanceScope } from '../access/instance-scope.ts';
import { lockAcceptOrder } from '../guard/accept-order.ts';
import { HALF_LIFE_MS } from '../guard/guard.ts';
import { type RecorderDeps, type Recording, recordUnderLease } from '../instances/create-recorder.ts';
import type { Lease, Recorded } from '../instances/lock-leases.ts';
import type { HistoryBatch } from '../network/facts.ts';
import type { Sql } from '../platform/database/db.ts';
import { type MovedChat, moveChats } from './move-chats.ts';
import { nameIn } from './read-phones.ts';

type LidPair = HistoryBatch['lids'][number];

/** Records what a session learnt of anonymous ids. Throws LeaseLost. Devices repeat pairs: known ones cost a look. */
export async function recordLids(
  deps: RecorderDeps,
  scope: InstanceScope & { lease: Lease },
  pairs: readonly LidPair[],
): Promise<Recorded> {
  const { rows } = await deps.db.query(FIND_NEW, [JSON.stringify(pairs), scope.instanceId]);
  if (rows.length === 0) return 'recorded';
  const save = ({ client, now }: Recording) => saveLids(client, scope, pairs, now);
  await recordUnderLease(deps, scope.lease, save, 'change');
  return 'recorded';
}

const FIND_NEW = `
SELECT 1 FROM json_to_recordset($1) AS r (lid text, phone text)
WHERE NOT EXISTS (SELECT 1 FROM lids l WHERE l.instance_id = $2 AND l.lid = r.lid AND l.phone = r.phone) LIMIT 1`;

/**
 * Stores pairs of an id, or of a number that leads to an account with another one, and the phone. Messages stay under an
 * anonymous id, since the network calls their senders by it; readers look the phone up, so one stored pair corrects all of
 * them at once. Data that exists once for each chat moves to the phone's address: the guard's count (an answer that came
 * before the pair counts for the phone), the chat, its notes and labels, and the contact.
 */
export async function saveLids(
  sql: Sql,
  { companyId, instanceId }: InstanceScope,
  pairs: readonly LidPair[],
  now: Date,
): Promise<void> {
  const newest = [...new Map(pairs.map((pair) => [pair.lid, pair])).values()];
  if (newest.length === 0) return;
  const learnt = await sql.query<LidPair>({
    name: 'lids-save',
    text: SAVE,
    values: [JSON.stringify(newest), instanceId, companyId, now],
  });
  const names = learnt.rows.filter(({ lid }) => !isLidJid(lid));
  if (names.length > 0) {
    const named = names.map(({ lid, phone }) => ({ name: nameIn(lid), phone }));
    await sql.query(SAVE_FORMER, [JSON.stringify(named), instanceId, now]);
  }
  const numbers = learnt.rows.filter(({ lid }) => isUserJid(lid));
  if (numbers.length > 0)
    await sql.query(FORGET, [instanceId, numbers.map(({ phone }) => jidOfPhone(phone))]);
  const chats = learnt.rows.map(({ lid, phone }) => ({ lid, jid: jidOfPhone(phone) }));
  await moveToKnown(sql, instanceId, chats);
}

/** Moves what there is one of for each chat. */
export async function moveToKnown(sql: Sql, instanceId: string, chats: readonly MovedChat[]): Promise<void> {
  if (chats.length === 0) return;
  // Else a send that is being accepted could write the count that moves here, as it was before.
  await lockAcceptOrder(sql, [instanceId]);
  await sql.query({
    name: 'lids-move-guards',
    text: MOVE_GUARDS,
    values: [JSON.stringify(chats), instanceId],
  });
  await moveChats(sql, instanceId, chats);
}

/** Ids that led to a user id or a number lead where that one does. */
const SAVE_FORMER = `
UPDATE lids SET phone = r.phone, learned_at = $3 FROM json_to_recordset($1) AS r (name text, phone text)
WHERE lids.instance_id = $2 AND lids.phone = r.name`;

/** An account leads to itself, whatever its number led to before. */
const FORGET = 'DELETE FROM lids WHERE instance_id = $1 AND lid = ANY ($2)';

const SAVE = `
INSERT INTO lids AS l (instance_id, lid, company_id, phone, learned_at)
SELECT i.id, r.lid, i.company_id, r.phone, $4
FROM json_to_recordset($1) AS r (lid text, phone text)
CROSS JOIN (SELECT id, company_id FROM instances WHERE id = $2 AND company_id = $3 FOR KEY SHARE) AS i
ON CONFLICT (instance_id, lid) DO UPDATE SET phone = excluded.phone, learned_at = excluded.learned_at
WHERE l.phone <> excluded.phone
RETURNING lid, phone`;

/** The score of a guard as it has decayed by the later time of the two. */
const decayed = (guard: string) =>
  `${guard}.score * power(2, -extract(epoch FROM greatest(g.score_at, excluded.score_at) - ${guard}.score_at) / ${HALF_LIFE_MS / 1000})`;

/** Sends under both addresses add up, unless the person has answered after those of the other one. */
const MOVE_GUARDS = `
WITH moved AS (
  DELETE FROM chat_guards g USING json_to_recordset($1) AS r (lid text, jid text)
  WHERE g.instance_id = $2 AND g.chat_jid = r.lid
  RETURNING r.jid, g.company_id, g.outbound_consecutive, g.score, g.score_at
)
INSERT INTO chat_guards AS g (instance_id, chat_jid, company_id, outbound_consecutive, score, score_at)
SELECT DISTINCT ON (jid) $2::uuid, jid, company_id, outbound_consecutive, score, score_at FROM moved
ORDER BY jid, score_at DESC
ON CONFLICT (instance_id, chat_jid) DO UPDATE SET
  outbound_consecutive = CASE
    WHEN g.score_at <= excluded.score_at AND excluded.outbound_consecutive = 0 THEN 0
    WHEN g.score_at > excluded.score_at AND g.outbound_consecutive = 0 THEN 0
    ELSE g.outbound_consecutive + excluded.outbound_consecutive END,
  score = greatest(${decayed('g')}, ${decayed('excluded')}),
  score_at = greatest(g.score_at, excluded.score_at)`;
