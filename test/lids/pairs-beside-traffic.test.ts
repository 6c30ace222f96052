import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Principal } from '@posthorn/core/access/principal.ts';
import { type Lease, underLease } from '@posthorn/core/instances/lock-leases.ts';
import { DEFAULT_SHARDS, shardOf } from '@posthorn/core/instances/shard.ts';
import { recordLids } from '@posthorn/core/lids/record-lids.ts';
import { recordUserIds } from '@posthorn/core/lids/record-user-ids.ts';
import { createProgressRecorder } from '@posthorn/core/messages/record-progress.ts';
import { createNote, listNotes } from '@posthorn/core/notes/keep-note.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';

const WRITTEN = '5584988887777@s.whatsapp.net';
const ACCOUNT = '558488887777';

let parts: Parts;
let companyId: number;
before(async () => {
  parts = await createParts();
  ({ companyId } = await seedCompany(parts.db));
});
after(() => parts.close());

async function newScope() {
  const instanceId = await seedInstance(parts.db, companyId, { state: 'CONNECTED' });
  const shard = shardOf(instanceId, DEFAULT_SHARDS);
  const found = await parts.db.query<Lease>('SELECT shard, epoch FROM shards WHERE shard = $1', [shard]);
  return { companyId, instanceId, lease: found.rows[0]! };
}
type Scope = Awaited<ReturnType<typeof newScope>>;

async function chatsOf({ instanceId }: Scope): Promise<string[]> {
  const { rows } = await parts.db.query<{ chat_jid: string }>(
    'SELECT chat_jid FROM chats WHERE instance_id = $1',
    [instanceId],
  );
  return rows.map((row) => row.chat_jid);
}

/** The database, whose transactions commit when `learn`, begun within the first one, has ended or waits for a lock. */
function dbBeside(learn: () => Promise<unknown>): { db: Db; learnt: () => Promise<unknown> } {
  let learning: Promise<unknown> | undefined;
  const begin = async () => {
    let hasEnded = false;
    learning = learn().finally(() => (hasEnded = true));
    await waitFor(async () => hasEnded || (await someoneWaits()));
  };
  const transaction: Db['transaction'] = (work, opening) =>
    parts.db.transaction(async (client) => {
      const result = await work(client);
      await begin();
      return result;
    }, opening);
  return { db: { ...parts.db, transaction }, learnt: async () => learning };
}

/** Records that a message was sent, and commits when `learn` has ended or waits for a lock. */
async function sendBeside(
  { instanceId, lease }: Scope,
  chatJid: string,
  learn: () => Promise<unknown>,
): Promise<void> {
  const id = newId();
  await parts.db.query(
    `INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, created_at)
     VALUES ($1, $2, $3, 'outbound', 'text', $4, 'queued', '{"text":"hi"}', now())`,
    [id, companyId, instanceId, chatJid],
  );
  const { db, learnt } = dbBeside(learn);
  const recorder = createProgressRecorder({ ...parts, db });
  await recorder.push({ messageId: id, lease, to: 'sent', at: new Date() });
  await learnt();
}

async function someoneWaits(): Promise<boolean> {
  const { rows } = await parts.db.query(
    `SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'advisory'
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return rows.length > 0;
}

test('a send that is recorded while its number is paired with an account leaves no second chat', async () => {
  const scope = await newScope();
  const learn = () => recordLids(parts, scope, [{ lid: WRITTEN, phone: ACCOUNT }]);
  await sendBeside(scope, WRITTEN, learn);
  assert.deepEqual(await chatsOf(scope), [`${ACCOUNT}@s.whatsapp.net`]);
});

test('nor one that is recorded while its user id is changed', async () => {
  const scope = await newScope();
  const [from, to] = ['BR.11111111111111@bsuid', 'BR.22222222222222@bsuid'];
  await sendBeside(scope, from, () => recordUserIds(parts, scope, [{ from, to }]));
  assert.deepEqual(await chatsOf(scope), [to]);
});

test('a pair that is known already waits for nobody', async () => {
  const scope = await newScope();
  const learn = () => recordLids(parts, scope, [{ lid: WRITTEN, phone: ACCOUNT }]);
  await learn();
  await underLease(parts.db, scope.lease, learn);
});

test('a note that is written while its number is paired with an account is with the others', async () => {
  const scope = await newScope();
  const { db, learnt } = dbBeside(() => recordLids(parts, scope, [{ lid: WRITTEN, phone: ACCOUNT }]));
  const principal = { companyId, userId: 1, isSuperadmin: false } as Principal;
  const chat = { principal, instanceId: scope.instanceId, chatId: WRITTEN };
  await createNote({ ...parts, db }, { ...chat, note: 'calls back on Monday' });
  await learnt();
  const { notes } = await listNotes(parts, { ...chat, limit: 10 });
  assert.deepEqual(
    notes.map(({ note }) => note),
    ['calls back on Monday'],
  );
});
