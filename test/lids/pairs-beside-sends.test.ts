import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import { DEFAULT_SHARDS, shardOf } from '@posthorn/core/instances/shard.ts';
import { recordLids } from '@posthorn/core/lids/record-lids.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { createAcceptor } from '@posthorn/core/sending/accept-send.ts';
import { someoneWaits } from '../support/locks.ts';
import { createParts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';

const PHONE = '553187654321';
const JID = `${PHONE}@s.whatsapp.net`;
const LID = '111222333444555@lid';
/** A number that leads to the account of the other one. */
const OTHER = '5531987654321@s.whatsapp.net';

test('a first send to a number that is just being paired with an anonymous id is accepted and counted', () =>
  sendDuringPair({ lid: LID, to: JID }));

test('a send to a number of which just then another one is learnt counts for that one', () =>
  sendDuringPair({ lid: OTHER, to: OTHER }));

async function sendDuringPair({ lid, to }: { lid: string; to: string }): Promise<void> {
  const parts = await createParts();
  try {
    const { companyId, principal } = await seedCompany(parts.db);
    const instanceId = await seedInstance(parts.db, companyId, { state: 'CONNECTED' });
    const shard = shardOf(instanceId, DEFAULT_SHARDS);
    const { rows } = await parts.db.query<Lease>('SELECT shard, epoch FROM shards WHERE shard = $1', [shard]);
    const scope = { companyId, instanceId, lease: rows[0]! };
    await parts.db.query(
      `INSERT INTO chat_guards (instance_id, chat_jid, company_id, outbound_consecutive, score, score_at)
       VALUES ($1, $2, $3, 2, 0, now())`,
      [instanceId, lid, companyId],
    );
    await parts.db.query(
      `INSERT INTO chats (instance_id, company_id, chat_jid, active_at, updated_at) VALUES ($1, $2, $3, now(), now())`,
      [instanceId, companyId, lid],
    );
    let recorded: Promise<unknown> | undefined;
    let accepted: Promise<unknown> | undefined;
    await parts.db.transaction(async (sql) => {
      // The pair's count has moved when its chat, which is held here, is to move.
      await sql.query('SELECT 1 FROM chats WHERE instance_id = $1 FOR UPDATE', [instanceId]);
      recorded = recordLids(parts, scope, [{ lid, phone: PHONE }]);
      await waitFor(() => someoneWaits(parts.db));
      accepted = createAcceptor(parts).acceptSend({
        principal,
        instanceId,
        operation: 'text',
        idempotencyKey: randomUUID(),
        force: false,
        body: { to, text: 'hi' },
        traceId: newId(),
        message: { type: 'text', chatJid: to, content: { text: 'hi' } },
      });
      accepted.catch(() => undefined);
      await waitFor(() => someoneWaits(parts.db, 2));
    });
    await recorded;
    await accepted;
    const guards = await parts.db.query(
      'SELECT chat_jid, outbound_consecutive FROM chat_guards WHERE instance_id = $1',
      [instanceId],
    );
    assert.deepEqual(guards.rows, [{ chat_jid: JID, outbound_consecutive: 3 }]);
  } finally {
    await parts.close();
  }
}
