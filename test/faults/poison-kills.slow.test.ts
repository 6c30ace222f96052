import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { controlOf } from '../network/sandbox-harness.ts';
import { waitFor } from '../support/process.ts';
import type { System } from '../support/system.ts';
import { connectInstances } from './traffic.ts';
import { useSystem } from './use-system.ts';

/** More deaths than the steps of any escalation: a longer series is a loop. */
const DEATHS_MAX = 12;

/** Statements on these rows never end: the test kills the worker that runs one, as a crash would. */
async function curse(system: System, table: 'messages' | 'outbox', condition: string): Promise<void> {
  await system.db.query(`
    CREATE FUNCTION hold_cursed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF ${condition} THEN PERFORM pg_sleep(600); END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER hold_cursed BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION hold_cursed()`);
}

/** Kills the worker each time that it runs a cursed statement, until `done`. Returns how often. */
async function killUntil(
  system: System,
  isDying: () => Promise<boolean>,
  done: () => Promise<boolean>,
): Promise<number> {
  const worker = system.workers[0]!;
  for (let deaths = 0; ; ) {
    if (await done()) return deaths;
    if (await isDying()) {
      assert.ok(deaths < DEATHS_MAX, 'the worker dies of it for ever');
      await worker.kill('SIGKILL');
      deaths += 1;
      // The statements of the dead worker would otherwise run on at the server.
      await system.db.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event = 'PgSleep'`,
      );
      await worker.restart();
    }
    await delay(50);
  }
}

async function sleeping(system: System): Promise<boolean> {
  const found = await system.db.query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`,
  );
  return found.rowCount !== 0;
}

async function receivedBy(system: System, instanceId: string) {
  const found = await system.db.query<{ text: string | null; incomplete_reason: string | null }>(
    `SELECT coalesce(content->>'text', content->>'caption') AS text, incomplete_reason FROM messages
     WHERE instance_id = $1 AND direction = 'inbound' ORDER BY id`,
    [instanceId],
  );
  return found.rows;
}

test('a received message that kills its worker each time ends after a few deaths, and later messages arrive', async (t) => {
  const system = await useSystem(t);
  const { instances } = await connectInstances(system, 1);
  const { id, phone } = instances[0]!;
  const sandbox = controlOf(system.sandboxUrl);
  await curse(system, 'messages', `NEW.content->>'text' = 'cursed'`);
  for (const text of ['before', 'cursed', 'after'])
    await sandbox.post('/phones/5511977770001/messages', { to: phone, text });

  const deaths = await killUntil(
    system,
    () => sleeping(system),
    async () => (await receivedBy(system, id)).length === 3,
  );
  assert.ok(deaths > 1, `${deaths} deaths`);
  assert.deepEqual(await receivedBy(system, id), [
    { text: 'before', incomplete_reason: null },
    { text: null, incomplete_reason: 'content_unreadable' },
    { text: 'after', incomplete_reason: null },
  ]);
  const { accounts } = await sandbox.get('/sessions');
  await waitFor(
    async () => {
      const { accounts } = await sandbox.get('/sessions');
      return accounts[0].unacked_events === 0;
    },
    30_000,
    { what: 'all is acknowledged' },
  );
  assert.equal(accounts.length, 1);
  t.diagnostic(`${deaths} deaths`);
});

test('media that kills its worker while it is downloaded costs the message its media', async (t) => {
  const system = await useSystem(t);
  const { instances } = await connectInstances(system, 1);
  const { id, phone } = instances[0]!;
  const sandbox = controlOf(system.sandboxUrl);
  await sandbox.post('/faults', { kind: 'break_media', how: 'hang', account: phone });
  const hits = async () => (await sandbox.get('/faults')).faults[0].hits as number;
  await sandbox.post('/phones/5511977770002/messages', { to: phone, text: 'before' });
  await sandbox.post('/phones/5511977770002/messages', {
    to: phone,
    type: 'image',
    caption: 'cursed',
    media_base64: Buffer.alloc(1000).toString('base64'),
    mime_type: 'image/png',
  });
  await sandbox.post('/phones/5511977770002/messages', { to: phone, text: 'after' });

  let seen = 0;
  const deaths = await killUntil(
    system,
    async () => {
      const now = await hits();
      const isDying = now > seen;
      seen = now;
      return isDying;
    },
    async () => (await receivedBy(system, id)).length === 3,
  );
  assert.deepEqual(await receivedBy(system, id), [
    { text: 'before', incomplete_reason: null },
    { text: 'cursed', incomplete_reason: 'media_unavailable' },
    { text: 'after', incomplete_reason: null },
  ]);
  t.diagnostic(`${deaths} deaths`);
});
