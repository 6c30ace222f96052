import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, test } from 'node:test';
import { type NetworkDriver, SendUnanswered } from '@posthorn/core/network/driver.ts';
import type { Broker } from '@posthorn/core/platform/broker/broker.ts';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { networkIdOf, newId } from '@posthorn/core/platform/ids.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createAcceptor } from '@posthorn/core/sending/accept-send.ts';
import { createSandboxDriver } from '@posthorn/network/sandbox/driver.ts';
import { createSandboxServer } from '@posthorn/network/sandbox/server.ts';
import { type RunningWorker, startWorker } from '@posthorn/worker/worker.ts';
import { controlOf } from '../network/sandbox-harness.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

let parts: Parts;
let company: SeededCompany;
let sandbox: Awaited<ReturnType<typeof createSandboxServer>>;
let control: ReturnType<typeof controlOf>;
const running: RunningWorker[] = [];

before(async () => {
  parts = await createParts();
  company = await seedCompany(parts.db);
  sandbox = await createSandboxServer({ autoPair: true, autoPairDelayMs: 0 });
  control = controlOf(sandbox.controlUrl);
  await control.post('/defaults', { read_delay_ms: 20 });
});
afterEach(async () => {
  await control.call('DELETE', '/faults');
  await Promise.all(running.splice(0).map((worker) => worker.stop()));
});
after(async () => {
  await sandbox.close();
  await parts.close();
});

async function start(options: { broker?: Broker; driver?: NetworkDriver } = {}): Promise<RunningWorker> {
  const worker = await startWorker({
    ...parts,
    databaseUrl: parts.url,
    clock: systemClock,
    broker: options.broker ?? createInProcessBroker(),
    cipher: createCipher('0123456789abcdef'.repeat(4)),
    driver: options.driver ?? createSandboxDriver({ url: sandbox.url }),
    name: `worker ${randomUUID()}`,
  });
  running.push(worker);
  return worker;
}

async function connectedInstance(settings = {}): Promise<{ id: string; phone: string }> {
  const id = await seedInstance(parts.db, company.companyId, {
    state: 'CREATED',
    wanted: 'connected',
    settings: { humanize_enabled: false, anti_spam_guard_enabled: false, ...settings },
  });
  parts.bus.notify('instance', id);
  const phone = await waitFor(async () => {
    const found = await parts.db.query<{ state: string; phone: string }>(
      'SELECT state, phone FROM instances WHERE id = $1',
      [id],
    );
    return found.rows[0]?.state === 'CONNECTED' && found.rows[0].phone;
  });
  return { id, phone };
}

function send(instanceId: string, phone: string, text: string) {
  const chatJid = `${phone}@s.whatsapp.net`;
  return createAcceptor({ ...parts, clock: systemClock }).acceptSend({
    principal: company.principal,
    instanceId,
    operation: 'text',
    idempotencyKey: randomUUID(),
    force: false,
    body: { to: phone, text },
    traceId: newId(),
    message: { type: 'text', chatJid, content: { text } },
  });
}

interface LoggedEvent {
  type: string;
  data: Record<string, unknown> & { message_ids?: string[] };
}

async function eventsOf(messageId: string): Promise<LoggedEvent[]> {
  const found = await parts.db.query<LoggedEvent>(
    `SELECT type, data FROM events WHERE data->'message_ids'->>0 = $1 ORDER BY tx, id`,
    [messageId],
  );
  return found.rows;
}

async function stateOf(instanceId: string): Promise<string> {
  const found = await parts.db.query<{ state: string }>('SELECT state FROM instances WHERE id = $1', [
    instanceId,
  ]);
  return found.rows[0]!.state;
}

let phones = 0;
function newPhone(): string {
  phones += 1;
  return `5521${String(phones).padStart(9, '0')}`;
}

async function shownTexts(phone: string): Promise<string[]> {
  const answer = await control.call('GET', `/phones/${phone}/messages`);
  return answer.status === 404 ? [] : answer.body.messages.map((message: { text: string }) => message.text);
}

test('a text reaches the phone and its sent, delivered and read events come in order', async () => {
  await start();
  const instance = await connectedInstance();
  const phone = newPhone();
  const accepted = await send(instance.id, phone, 'hello');
  const events = await waitFor(async () => {
    const found = await eventsOf(accepted.messageId);
    return found.length === 3 && found;
  });
  assert.deepEqual(
    events.map((event) => event.type),
    ['message.sent', 'message.delivered', 'message.read'],
  );
  const { data } = events[0]!;
  assert.equal(data.message_type, 'text');
  assert.equal(data.phone, phone);
  assert.equal(typeof data.idempotency_key, 'string');
  assert.deepEqual(await shownTexts(phone), ['hello']);
  const left = await parts.db.query('SELECT 1 FROM outbox WHERE task_id = $1', [accepted.taskId]);
  assert.equal(left.rows.length, 0);
});

test('a message of a phone is recorded once, causes one event, and counts as an answer', async () => {
  await start();
  const instance = await connectedInstance({ anti_spam_guard_enabled: true });
  const phone = newPhone();
  for (const text of ['1', '2', '3']) await send(instance.id, phone, text);
  await assert.rejects(send(instance.id, phone, '4'), { code: 'BLOCKED_TEMPERATURE_LIMIT' });
  await control.post('/faults', { kind: 'repeat_events', instance: instance.id });
  await control.post('/phones', { phone });
  await control.post(`/phones/${phone}/messages`, { to: instance.phone, type: 'text', text: 'an answer' });
  const received = await waitFor(async () => {
    const found = await parts.db.query<LoggedEvent>(
      `SELECT type, data FROM events WHERE instance_id = $1 AND type = 'message.received'`,
      [instance.id],
    );
    return found.rows.length > 0 && found.rows;
  });
  assert.equal(received.length, 1);
  assert.equal(received[0]?.data.phone, phone);
  await send(instance.id, phone, '4');
});

test('a refused message causes text.delivery_failed, and the next one is sent', async () => {
  await start();
  const instance = await connectedInstance();
  await control.post('/faults', {
    kind: 'refuse',
    instance: instance.id,
    reason: 'not_on_network',
    times: 1,
  });
  const refused = await send(instance.id, newPhone(), 'no');
  const next = await send(instance.id, newPhone(), 'yes');
  await waitFor(async () => (await eventsOf(next.messageId)).some((event) => event.type === 'message.sent'));
  const events = await waitFor(async () => {
    const found = await eventsOf(refused.messageId);
    return found.length > 0 && found;
  });
  assert.deepEqual(
    events.map((event) => event.type),
    ['text.delivery_failed'],
  );
  assert.equal(events[0]?.data.reason, 'not_on_network');
  assert.equal(events[0]?.data.wire_state, 'not_sent');
});

test('a connection cut on every tenth send loses, repeats and reorders nothing', async () => {
  await start();
  const instance = await connectedInstance();
  const phone = newPhone();
  for (const at of ['before_ledger', 'after_ledger', 'after_ack']) {
    await control.post('/faults', { kind: 'drop', instance: instance.id, at, nth: 10, times: 3 });
  }
  const texts = Array.from({ length: 100 }, (_, i) => `text ${i}`);
  const ids: string[] = [];
  for (const text of texts) ids.push((await send(instance.id, phone, text)).messageId);
  await waitFor(async () => (await shownTexts(phone)).length === 100, 60_000);
  assert.deepEqual(await shownTexts(phone), texts);
  await waitFor(async () => {
    const sent = await parts.db.query<{ n: number }>(
      `SELECT count(*)::integer AS n FROM events WHERE instance_id = $1 AND type = 'message.sent'`,
      [instance.id],
    );
    return sent.rows[0]?.n === 100;
  });
  assert.equal(await stateOf(instance.id), 'CONNECTED', 'a short cut is not told as a disconnection');
});

test('a send whose outcome is unknown on a network that does not drop duplicates fails, and is not repeated', async () => {
  const driver = createSandboxDriver({ url: sandbox.url, sendTimeoutMs: 300 });
  await start({ driver: { ...driver, dedupes: false } });
  const instance = await connectedInstance();
  await control.post('/faults', { kind: 'silence', instance: instance.id, at: 'after_ledger', times: 1 });
  const phone = newPhone();
  // Offline, so that no delivery receipt proves that it was sent after all.
  await control.post('/phones', { phone, online: false });
  const unknown = await send(instance.id, phone, 'perhaps');
  const events = await waitFor(async () => {
    const found = await eventsOf(unknown.messageId);
    return found.length > 0 && found;
  });
  assert.equal(events[0]?.type, 'text.delivery_failed');
  assert.equal(events[0]?.data.reason, 'outcome_unknown');
  assert.equal(events[0]?.data.wire_state, 'unknown');
  const ledger = await control.get(`/ledger?phone=${phone}`);
  assert.deepEqual(
    ledger.entries.map((entry: { times_seen: number }) => entry.times_seen),
    [1],
  );
  await control.post('/phones', { phone, online: true });
  const isRead = async () => (await eventsOf(unknown.messageId)).some(({ type }) => type === 'message.read');
  await waitFor(isRead, undefined, { what: 'the receipt proves that it was sent' });
  const { rows } = await parts.db.query(
    'SELECT status, failed_reason, failed_at, sent_at IS NOT NULL AS sent FROM messages WHERE id = $1',
    [unknown.messageId],
  );
  assert.deepEqual(rows, [{ status: 'read', failed_reason: null, failed_at: null, sent: true }]);
});

test('a send that its driver gives up has an unknown outcome, the next ones are sent, and the driver hears what is recorded', async () => {
  const driver = createSandboxDriver({ url: sandbox.url });
  const recorded: string[] = [];
  await start({
    driver: {
      ...driver,
      async open(request, sink) {
        const session = await driver.open(request, sink);
        return {
          ...session,
          async send(message) {
            if (message.content.text === 'never') throw new SendUnanswered();
            return session.send(message);
          },
          recorded: (ids) => void recorded.push(...ids),
        };
      },
    },
  });
  const instance = await connectedInstance();
  const phone = newPhone();
  const sent = [];
  for (const text of ['never', 'after it']) sent.push((await send(instance.id, phone, text)).messageId);
  const [unknown, other] = sent as [string, string];
  await waitFor(async () => (await eventsOf(other)).some(({ type }) => type === 'message.sent'));
  const failed = await waitFor(async () => (await eventsOf(unknown))[0]);
  assert.deepEqual(
    [failed.type, failed.data.reason, failed.data.wire_state],
    ['text.delivery_failed', 'outcome_unknown', 'unknown'],
  );
  await waitFor(() => recorded.length === 2);
  assert.deepEqual(recorded.toSorted(), sent.map(networkIdOf).toSorted());
});

test('a broker that loses every wake-up delays a message by seconds and does not lose it', async () => {
  const lossy: Broker = { ...createInProcessBroker(), publish: () => Promise.resolve() };
  await start({ broker: lossy });
  const instance = await connectedInstance();
  const phone = newPhone();
  // The session looks by itself when it attaches: only later work depends on a wake-up.
  await waitFor(async () => (await parts.db.query('SELECT 1 FROM outbox')).rows.length === 0);
  await send(instance.id, phone, 'late');
  await waitFor(async () => (await shownTexts(phone)).length === 1, 15_000);
});

test('sends continue within seconds while the relay is frozen and the broker is away', async () => {
  const away: Broker = { ...createInProcessBroker(), isUp: () => false };
  await start({ broker: away });
  const instances = [await connectedInstance(), await connectedInstance(), await connectedInstance()];
  const phone = newPhone();
  for (let nth = 0; nth < 3; nth += 1) {
    for (const { id } of instances) await send(id, phone, `text ${nth}`);
    await waitFor(async () => (await shownTexts(phone)).length === 3 * (nth + 1), 15_000);
  }
  const left = await parts.db.query('SELECT 1 FROM outbox WHERE published_at IS NOT NULL');
  assert.equal(left.rows.length, 0);
});

test('a send that does not get on makes its worker late, and work that gets on does not', async () => {
  const driver = createSandboxDriver({ url: sandbox.url });
  let answers = true;
  const answer = Promise.withResolvers<{ at: Date }>();
  const worker = await start({
    driver: {
      ...driver,
      async open(request, sink) {
        const session = await driver.open(request, sink);
        return {
          ...session,
          send: (message) => (answers ? session.send(message) : answer.promise),
        };
      },
    },
  });
  const instance = await connectedInstance();
  const phone = newPhone();
  await send(instance.id, phone, 'gets on');
  await waitFor(async () => (await shownTexts(phone)).length === 1, 15_000);
  await waitFor(() => worker.lateMs() === 0);
  answers = false;
  await send(instance.id, phone, 'does not');
  await waitFor(() => worker.lateMs() > 1_500);
  answer.resolve({ at: new Date() });
  await waitFor(() => worker.lateMs() === 0);
});

test('an instance is disconnected, connected again and logged out as its users ask', async () => {
  await start();
  const instance = await connectedInstance();
  const want = async (wanted: string) => {
    await parts.db.query('UPDATE instances SET wanted = $2 WHERE id = $1', [instance.id, wanted]);
    parts.bus.notify('instance', instance.id);
  };
  const live = async () => {
    const { accounts } = await control.get('/sessions');
    return accounts.find((account: { phone: string }) => account.phone === instance.phone)?.live;
  };
  await want('disconnected');
  await waitFor(async () => (await stateOf(instance.id)) === 'DISCONNECTED');
  await waitFor(async () => (await live()) === 0);
  await want('connected');
  await waitFor(async () => (await stateOf(instance.id)) === 'CONNECTED');
  await want('logged_out');
  await waitFor(async () => {
    const row = await parts.db.query<{ credentials: Buffer | null }>(
      'SELECT credentials FROM instances WHERE id = $1',
      [instance.id],
    );
    return row.rows[0]?.credentials === null;
  });
  assert.equal(await stateOf(instance.id), 'DISCONNECTED');
});

test('a restart opens a new session and the old one is closed first', async () => {
  await start();
  const instance = await connectedInstance();
  await parts.db.query('UPDATE instances SET generation = generation + 1 WHERE id = $1', [instance.id]);
  parts.bus.notify('instance', instance.id);
  const account = async () => {
    const { accounts } = await control.get('/sessions');
    return accounts.find((one: { phone: string }) => one.phone === instance.phone);
  };
  await waitFor(async () => (await account())?.logins === 2 && (await account())?.live === 1);
  assert.equal((await account()).kicks, 0);
  const accepted = await send(instance.id, newPhone(), 'after the restart');
  await waitFor(async () => (await eventsOf(accepted.messageId)).length > 0);
});

test('another worker takes over where the first one stopped: in order, once, never two sessions', async () => {
  const first = await start();
  const instance = await connectedInstance();
  const phone = newPhone();
  const texts = Array.from({ length: 300 }, (_, i) => `text ${i}`);
  const sending = (async () => {
    for (const text of texts) await send(instance.id, phone, text);
  })();
  await waitFor(async () => (await shownTexts(phone)).length > 30);
  await start();
  await first.stop();
  running.splice(running.indexOf(first), 1);
  await sending;
  await waitFor(async () => (await shownTexts(phone)).length === 300, 60_000);
  assert.deepEqual(await shownTexts(phone), texts);
  const { accounts } = await control.get('/sessions');
  const account = accounts.find((one: { phone: string }) => one.phone === instance.phone);
  assert.equal(account.max_live, 1);
});
