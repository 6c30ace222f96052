import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { SendUnavailable, type SessionSink } from '@posthorn/core/network/driver.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { cipher, startScripted } from '../support/scripted-network.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

const IDENTITY = {
  credentials: { number: 1 },
  phone: '5511999990000',
  jid: '5511999990000@s.whatsapp.net',
  pushName: '',
};

let parts: Parts;
let company: SeededCompany;
before(async () => {
  parts = await createParts();
  company = await seedCompany(parts.db);
});
after(() => parts.close());
// The worker of the next test would open them.
afterEach(() => parts.db.query(`UPDATE instances SET state = 'DISCONNECTED', wanted = 'disconnected'`));

/** An instance that its users want connected, paired or about to pair. */
async function seed(state: 'paired' | 'new'): Promise<string> {
  const { companyId } = company;
  if (state === 'new') return seedInstance(parts.db, companyId, { state: 'CREATED', wanted: 'connected' });
  const id = await seedInstance(parts.db, companyId, { state: 'DISCONNECTED', wanted: 'connected' });
  await parts.db.query('UPDATE instances SET credentials = $2 WHERE id = $1', [id, cipher.seal({})]);
  return id;
}

/** Changes its row as a user's request does, and wakes its owner. */
async function ask(instanceId: string, changes: string): Promise<void> {
  await parts.db.query(`UPDATE instances SET ${changes} WHERE id = $1`, [instanceId]);
  parts.bus.notify('instance', instanceId);
}

interface Seen {
  state: string;
  wanted: string;
  last_error: string | null;
  is_paired: boolean;
}

async function read(instanceId: string): Promise<Seen> {
  const { rows } = await parts.db.query<Seen>(
    'SELECT state, wanted, last_error, credentials IS NOT NULL AS is_paired FROM instances WHERE id = $1',
    [instanceId],
  );
  return rows[0]!;
}

test('a session that opens while its worker stops is closed', async () => {
  await seed('new');
  const mayOpen = Promise.withResolvers<void>();
  const closed: number[] = [];
  const { starting, opened } = startScripted(parts, async (nth) => {
    await mayOpen.promise;
    return { close: async () => void closed.push(nth) };
  });
  const worker = await starting;
  await waitFor(() => opened() === 1);
  const stopping = worker.stop();
  // By then it has looked for sessions to close.
  await delay(300);
  mayOpen.resolve();
  await stopping;
  assert.deepEqual(closed, [0]);
});

test('a connected instance whose next session cannot be opened is soon shown as disconnected', async (t) => {
  const instanceId = await seed('paired');
  const { starting } = startScripted(parts, (nth, sink) => {
    if (nth > 0) throw new SendUnavailable('the proxy does not answer');
    setImmediate(() => sink.connected());
    return { close: async () => undefined };
  });
  const worker = await starting;
  t.after(() => worker.stop());
  await waitFor(async () => (await read(instanceId)).state === 'CONNECTED');
  await ask(instanceId, 'generation = generation + 1');
  await waitFor(async () => (await read(instanceId)).state === 'DISCONNECTED');
  assert.equal((await read(instanceId)).last_error, 'the proxy does not answer');
});

test('a pairing whose commit got no answer is the one that is opened after the loss of its session', async (t) => {
  const instanceId = await seed('new');
  let losesAnswers = false;
  const db: Db = {
    ...parts.db,
    async transaction(work, opening) {
      const done = await parts.db.transaction(work, opening);
      // The last of the transactions of a pairing.
      if (losesAnswers && (await read(instanceId)).is_paired)
        throw new Error('Connection terminated unexpectedly');
      return done;
    },
  };
  const opened: unknown[] = [];
  const { starting } = startScripted({ ...parts, db }, (nth, sink, { credentials }) => {
    opened.push(credentials);
    if (nth === 0) setImmediate(() => void pair(sink));
    else if (credentials === null) setImmediate(() => sink.qr('another', new Date(Date.now() + 60_000)));
    else setImmediate(() => sink.connected());
    return { close: async () => undefined };
  });
  async function pair(sink: SessionSink): Promise<void> {
    sink.qr('shown', new Date(Date.now() + 60_000));
    await waitFor(async () => (await read(instanceId)).state === 'PAIRING');
    // Until its owner has read the row as it is while it pairs.
    await delay(1_000);
    losesAnswers = true;
    await assert.rejects(sink.paired(IDENTITY));
    losesAnswers = false;
    sink.disconnected('connection_lost');
  }
  const worker = await starting;
  t.after(() => worker.stop());
  await waitFor(() => opened.length === 2);
  assert.deepEqual(opened, [null, IDENTITY.credentials]);
  await waitFor(async () => (await read(instanceId)).state === 'CONNECTED');
});

test('an instance that is deleted right after it was paired is logged out of the network', async (t) => {
  const instanceId = await seed('new');
  const logouts: number[] = [];
  const { starting, opened } = startScripted(parts, (nth, sink) => {
    setImmediate(() => void sink.paired(IDENTITY).then(sink.connected));
    return { close: async () => undefined, logout: async () => void logouts.push(nth) };
  });
  const worker = await starting;
  t.after(() => worker.stop());
  await waitFor(async () => (await read(instanceId)).state === 'CONNECTED');
  await parts.db.query('DELETE FROM instances WHERE id = $1', [instanceId]);
  parts.bus.notify('instance', instanceId);
  await waitFor(() => logouts.length > 0);
  // Each notification makes the worker look again.
  parts.bus.notify('instance', instanceId);
  await delay(500);
  assert.deepEqual(logouts, [0]);
  assert.equal(opened(), 1);
});

test('the network is not told that a deleted instance was paired', async (t) => {
  const instanceId = await seed('new');
  const answers: Promise<unknown>[] = [];
  const { starting } = startScripted(parts, (_nth, sink) => {
    setImmediate(() => sink.qr('shown', new Date(Date.now() + 60_000)));
    async function pair(): Promise<void> {
      await waitFor(async () => (await read(instanceId)).state === 'PAIRING');
      // Until its owner has read the row as it is while it pairs.
      await delay(1_000);
      await parts.db.query('DELETE FROM instances WHERE id = $1', [instanceId]);
      answers.push(
        sink.paired(IDENTITY).then(
          () => 'stored',
          (err: Error) => err.message,
        ),
      );
    }
    void pair();
    return { close: async () => undefined, logout: async () => undefined };
  });
  const worker = await starting;
  t.after(() => worker.stop());
  await waitFor(() => answers.length > 0);
  assert.equal(await answers[0], 'a PAIRING instance was paired: gone');
});

test('a user who connects before the database knows of the logout pairs anew', async (t) => {
  const instanceId = await seed('paired');
  let isLinked = true;
  const { starting } = startScripted(parts, (_nth, sink, { credentials }) => {
    setImmediate(() => {
      if (credentials === null) sink.qr('new', new Date(Date.now() + 60_000));
      else if (isLinked) sink.connected();
      else sink.disconnected('logged_out');
    });
    return {
      close: async () => undefined,
      async logout() {
        isLinked = false;
      },
    };
  });
  const worker = await starting;
  t.after(() => worker.stop());
  await waitFor(async () => (await read(instanceId)).state === 'CONNECTED');
  await parts.db.query(`
    CREATE SEQUENCE failures;
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM nextval('failures');
      RAISE EXCEPTION 'the database is busy' USING ERRCODE = '55P03';
    END $$;
    CREATE TRIGGER fail BEFORE UPDATE OF credentials ON instances FOR EACH ROW EXECUTE FUNCTION fail()`);
  await ask(instanceId, `wanted = 'logged_out'`);
  await waitFor(async () => {
    const { rows } = await parts.db.query<{ is_called: boolean }>('SELECT is_called FROM failures');
    return rows[0]!.is_called;
  });
  await ask(instanceId, `wanted = 'connected'`);
  await parts.db.query('DROP TRIGGER fail ON instances');
  await waitFor(async () => (await read(instanceId)).state === 'PAIRING');
  const { wanted, is_paired } = await read(instanceId);
  assert.deepEqual({ wanted, is_paired }, { wanted: 'connected', is_paired: false });
});

test('a user who restarts while the network ends the pairing pairs anew', async (t) => {
  const instanceId = await seed('paired');
  const { starting } = startScripted(parts, (_nth, sink, { credentials }) => {
    setImmediate(() => (credentials ? sink.connected() : sink.qr('new', new Date(Date.now() + 60_000))));
    if (credentials) ended.push(sink);
    return { close: async () => undefined };
  });
  const ended: SessionSink[] = [];
  const worker = await starting;
  t.after(() => worker.stop());
  await waitFor(async () => (await read(instanceId)).state === 'CONNECTED');
  // Until its owner has read the row as it is while it is connected.
  await delay(1_000);
  // The notification comes after the report of the network.
  await parts.db.query('UPDATE instances SET generation = generation + 1 WHERE id = $1', [instanceId]);
  ended[0]!.disconnected('logged_out');
  await waitFor(async () => (await read(instanceId)).state === 'PAIRING');
  assert.equal((await read(instanceId)).is_paired, false);
});

test('a throttled instance that a user disconnects can be connected again', async (t) => {
  const instanceId = await seed('paired');
  let isThrottled = true;
  const { starting } = startScripted(parts, (_nth, sink) => {
    setImmediate(() => (isThrottled ? sink.disconnected('hard_paused') : sink.connected()));
    return { close: async () => undefined };
  });
  const worker = await starting;
  t.after(() => worker.stop());
  await waitFor(async () => (await read(instanceId)).state === 'HARD_PAUSED');
  isThrottled = false;
  await ask(instanceId, `wanted = 'disconnected'`);
  await waitFor(async () => (await read(instanceId)).state === 'DISCONNECTED');
  await ask(instanceId, `wanted = 'connected'`);
  await waitFor(async () => (await read(instanceId)).state === 'CONNECTED');
});

test('a session that cannot be closed hands over no session of another instance that is still open', async () => {
  const ids = [await seed('new'), await seed('new')];
  await parts.db.query('UPDATE instances SET shard = 0 WHERE id = ANY ($1::uuid[])', [ids]);
  const closed: string[] = [];
  const { starting, opened } = startScripted(parts, (_nth, _sink, { instanceId }) => ({
    async close() {
      if (instanceId === ids[0]) throw new Error('it does not close');
      await delay(1_000);
      closed.push(instanceId);
    },
  }));
  const worker = await starting;
  await waitFor(() => opened() === ids.length);
  await worker.stop();
  assert.deepEqual(closed, [ids[1]]);
});

test('the QR of a session that has ended is hidden when the next one opens', async (t) => {
  const instanceId = await seed('new');
  const sinks: SessionSink[] = [];
  const { starting } = startScripted(parts, (_nth, sink) => {
    sinks.push(sink);
    return { close: async () => undefined };
  });
  const shown = async () => {
    const { rows } = await parts.db.query<{ qr: string | null }>(
      'SELECT qr FROM instance_pairings WHERE instance_id = $1',
      [instanceId],
    );
    return rows[0]?.qr;
  };
  const worker = await starting;
  t.after(() => worker.stop());
  await waitFor(() => sinks.length === 1);
  sinks[0]!.qr('first', new Date(Date.now() + 60_000));
  await waitFor(async () => (await shown()) === 'first');
  sinks[0]!.disconnected('connection_lost');
  await waitFor(() => sinks.length === 2);
  assert.equal(await shown(), null);
  sinks[1]!.qr('second', new Date(Date.now() + 60_000));
  await waitFor(async () => (await shown()) === 'second');
});

test('a banned instance that was never paired can be logged out after a suspension', async (t) => {
  const { companyId } = company;
  const instanceId = await seedInstance(parts.db, companyId, { state: 'BANNED', wanted: 'connected' });
  const suspend = (at: string) =>
    parts.db.query(`UPDATE companies SET billing_suspended_at = ${at} WHERE id = $1`, [companyId]);
  await suspend('now()');
  t.after(() => suspend('NULL'));
  const { starting } = startScripted(parts, () => ({ close: async () => undefined }));
  const worker = await starting;
  t.after(() => worker.stop());
  // By then it has seen that nothing is to be done for it.
  await delay(1_000);
  await ask(instanceId, `wanted = 'logged_out'`);
  await waitFor(async () => (await read(instanceId)).state === 'DISCONNECTED');
});

test('a pairing code that nobody waits for any more is not asked of the network', async (t) => {
  const [late, asked] = [await seed('new'), await seed('new')];
  const request = (id: string, phone: string, ago: string) =>
    parts.db.query(
      `INSERT INTO instance_pairings (instance_id, company_id, code_phone, code_requested_at)
       VALUES ($1, $2, $3, now() - $4::interval)`,
      [id, company.companyId, phone, ago],
    );
  await request(late, '5511999990001', '1 minute');
  await request(asked, '5511999990002', '-1 minute');
  const phones: string[] = [];
  const { starting, opened } = startScripted(parts, () => ({
    close: async () => undefined,
    async requestPairingCode(phone) {
      phones.push(phone);
      return 'ABCD1234';
    },
  }));
  const worker = await starting;
  t.after(() => worker.stop());
  await waitFor(() => opened() === 2 && phones.length > 0);
  await delay(500);
  assert.deepEqual(phones, ['5511999990002']);
});
