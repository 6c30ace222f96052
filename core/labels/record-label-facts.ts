import { buildEvent } from '../events/build-event.ts';
import type { NewEvent } from '../events/insert-events.ts';
import { type RecorderDeps, recordUnderLease } from '../instances/create-recorder.ts';
import { lockDeviceState } from '../instances/device-state.ts';
import type { Lease } from '../instances/lock-leases.ts';
import { findReferenced } from '../messages/find-referenced.ts';
import type { NetworkFact } from '../network/facts.ts';
import type { Sql } from '../platform/database/db.ts';
import {
  fileByMessageId,
  type LabelBearer,
  type LabelScope,
  type Revised,
  storeLabel,
  storeLink,
} from './store-label.ts';

type LabelFact = Extract<NetworkFact, { kind: 'label' | 'label_chat' | 'label_message' }>;

/**
 * Records label facts in their order, each once, with its event (EVT-20): label.created, .updated, .deleted,
 * .associated, .dissociated. A change that the API has stored already still gets its event here, by its revision.
 * Throws LeaseLost.
 */
export async function recordLabelFacts(
  deps: RecorderDeps,
  scope: LabelScope & { lease: Lease },
  facts: readonly LabelFact[],
): Promise<void> {
  await recordUnderLease(deps, scope.lease, async ({ client: sql, now, tell }) => {
    await lockDeviceState(sql, scope.instanceId);
    const events: NewEvent[] = [];
    for (const fact of facts) {
      const revised = { revision: fact.revision, now, isTold: true };
      const told =
        fact.kind === 'label'
          ? await recordLabel(sql, scope, fact, revised)
          : await recordLink(sql, scope, fact, revised);
      if (!told) continue;
      const data = { ...told.data, timestamp: fact.at.toISOString() };
      events.push(buildEvent(scope, { type: told.type, data, now }));
    }
    await tell(events);
  });
}

type Told = { type: string; data: Record<string, unknown> } | null;

async function recordLabel(
  sql: Sql,
  scope: LabelScope,
  fact: Extract<LabelFact, { kind: 'label' }>,
  revised: Revised,
): Promise<Told> {
  const found = await sql.query<{ told_revision: number; told_exists: boolean }>(
    'SELECT told_revision, told_exists FROM labels WHERE instance_id = $1 AND label_id = $2',
    [scope.instanceId, fact.labelId],
  );
  const before = found.rows[0];
  if (before && fact.revision <= before.told_revision) return null;
  await storeLabel(sql, scope, fact, revised);
  const existed = before?.told_exists ?? false;
  if (!existed && fact.deleted) return null;
  const change = fact.deleted ? 'deleted' : existed ? 'updated' : 'created';
  return {
    type: `label.${change}`,
    data: { label_id: fact.labelId, name: fact.name, color: fact.color },
  };
}

async function recordLink(
  sql: Sql,
  scope: LabelScope,
  fact: Exclude<LabelFact, { kind: 'label' }>,
  revised: Revised,
): Promise<Told> {
  const bearer = await bearerOf(sql, scope, fact);
  await fileByMessageId(sql, scope, bearer);
  const found = await sql.query<{ told_revision: number; told_associated: boolean }>(
    `SELECT told_revision, told_associated FROM label_links
     WHERE instance_id = $1 AND label_id = $2 AND chat_jid = $3 AND message_key = $4`,
    [scope.instanceId, bearer.labelId, bearer.chat, bearer.messageKey],
  );
  const before = found.rows[0];
  if (before && fact.revision <= before.told_revision) return null;
  await storeLink(sql, scope, bearer, fact.associated, revised);
  // Putting it on where it is already is a change to the network and none to anybody else.
  if ((before?.told_associated ?? false) === fact.associated) return null;
  const { labelId, chat, messageKey } = bearer;
  return {
    type: fact.associated ? 'label.associated' : 'label.dissociated',
    data: { label_id: labelId, ...(messageKey === '' ? { chat } : { message_id: messageKey }) },
  };
}

async function bearerOf(
  sql: Sql,
  { instanceId }: LabelScope,
  fact: Exclude<LabelFact, { kind: 'label' }>,
): Promise<LabelBearer> {
  const { labelId, chat } = fact;
  if (fact.kind === 'label_chat') return { labelId, chat, messageKey: '' };
  const known = await findReferenced(sql, instanceId, fact.target.id, chat);
  // As the API files it, whatever the network calls its chat.
  return known
    ? { labelId, chat: known.chatJid, messageKey: known.id, networkId: known.networkId }
    : { labelId, chat, messageKey: fact.target.id };
}
