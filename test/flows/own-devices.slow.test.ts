import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { networkIdOf } from '@posthorn/core/platform/ids.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createSandboxDriver } from '@posthorn/network/sandbox/driver.ts';
import { createSandboxServer } from '@posthorn/network/sandbox/server.ts';
import { createWhatsAppDriver } from '@posthorn/network/whatsapp/driver.ts';
import { loadLibrary, trustRoot } from '@posthorn/network/whatsapp/library.ts';
import { openWorkerMedia } from '@posthorn/worker/media/open-worker-media.ts';
import { type RunningWorker, startWorker } from '@posthorn/worker/worker.ts';
import { controlOf } from '../network/sandbox-harness.ts';
import { tellFigure } from '../support/figures.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';
import { ensureWhatsAppLibrary } from '../support/whatsapp/library-install.ts';
import { startWhatsAppNetwork, type WhatsAppNetwork } from '../support/whatsapp/network.ts';
import '../support/whatsapp/library-timers.ts';

/** How many messages the user types on the phone while the API sends: each is one record with its own source. */
const TYPED = process.env.POSTHORN_FULL ? 1000 : 200;
/** The API sends one message for this many that are typed. */
const SENT_EACH = 4;

let api: TestMessaging;
let network: WhatsAppNetwork;
let sandbox: Awaited<ReturnType<typeof createSandboxServer>>;
let worker: RunningWorker;
let company: SeededCompany;
before(async () => {
  await ensureWhatsAppLibrary();
  network = await startWhatsAppNetwork();
  trustRoot(await loadLibrary(), network.trustedRoot);
  sandbox = await createSandboxServer({ autoPair: false });
  api = await startTestMessaging({ NETWORK_DRIVERS: 'sandbox,whatsapp' }, { clock: systemClock });
  company = await seedCompany(api.parts.db);
  await startOne();
});
after(async () => {
  await worker.stop();
  await network.close();
  await sandbox.close();
  await api.close();
});

async function startOne(): Promise<void> {
  const { parts, config, media } = api;
  worker = await startWorker({
    ...parts,
    databaseUrl: parts.url,
    clock: systemClock,
    broker: createInProcessBroker(),
    cipher: createCipher(config.ENCRYPTION_KEY),
    driver: createSandboxDriver({ url: sandbox.url }),
    otherDrivers: [createWhatsAppDriver({ url: network.url, ca: network.ca, log: parts.log })],
    name: `worker ${randomUUID()}`,
    media: await openWorkerMedia({ config, media, log: parts.log }),
  });
}

async function call(method: string, path: string, body?: object) {
  const answer = await api.call(method, `/v1/instances${path}`, {
    key: company.apiKey,
    headers: { 'idempotency-key': randomUUID() },
    ...(body ? { body } : {}),
  });
  assert.ok(answer.status < 300, answer.text);
  return answer.body;
}

async function pair(driver: string, scan: (qr: string) => unknown): Promise<string> {
  const { id } = await call('POST', '', { name: `On ${driver}`, driver });
  await call('PATCH', `/${id}/settings`, { humanize_enabled: false, anti_spam_guard_enabled: false });
  await call('POST', `/${id}/connect`);
  const qr = await waitFor(async () => {
    const answer = await api.call('GET', `/v1/instances/${id}/qr`, {
      key: company.apiKey,
      headers: { accept: 'application/json' },
    });
    return answer.status === 200 && answer.body.qr;
  }, 60_000);
  await scan(qr);
  await waitFor(async () => (await call('GET', `/${id}`)).state === 'CONNECTED', 60_000);
  return id;
}

/**
 * Types and sends at the same time, with another worker from the middle on. Returns the sends of the API, and whether
 * all came in order.
 */
async function interleave(id: string, to: string, type: (text: string) => Promise<string> | string) {
  const typed: string[] = [];
  const sent: string[] = [];
  const startMs = performance.now();
  for (let nth = 0; nth < TYPED; nth += 1) {
    typed.push(await type(`typed ${nth}`));
    if (nth % SENT_EACH === 0) {
      const { message_id } = await call('POST', `/${id}/messages/text`, { to, text: `sent ${nth}` });
      sent.push(message_id);
    }
    if (nth === TYPED / 2) {
      await worker.stop();
      await startOne();
    }
  }
  const { db } = api.parts;
  const rows = () =>
    db.query<{
      id: string;
      source: string;
      network_id: string | null;
      text: string;
      events: string[];
      keys: number;
    }>(
      `SELECT m.id, CASE WHEN m.idempotency_key IS NULL THEN 'device' ELSE 'api' END AS source, m.network_id,
              m.content ->> 'text' AS text,
              array_agg(e.type ORDER BY e.tx, e.id) FILTER (WHERE e.type = 'message.sent') AS events,
              count(e.data ->> 'idempotency_key')::integer AS keys
       FROM messages m LEFT JOIN events e ON e.data -> 'message_ids' ->> 0 = m.id::text AND e.type = 'message.sent'
       WHERE m.instance_id = $1 GROUP BY m.id ORDER BY m.id`,
      [id],
    );
  await waitFor(
    async () =>
      (await rows()).rows.filter(({ events }) => events?.length).length >= typed.length + sent.length,
    300_000,
    { what: 'all are told' },
  );
  tellFigure(`${TYPED} typed and ${sent.length} sent, told`, performance.now() - startMs, {
    atMost: 120_000,
  });
  const all = (await rows()).rows;
  assert.ok(all.every(({ events }) => events.length === 1));
  const ofDevice = all.filter(({ source }) => source === 'device');
  const ofApi = all.filter(({ source }) => source === 'api');
  const wanted = typed.map((networkId, nth) => [networkId, `typed ${nth}`, 0] as const);
  const told = ofDevice.map(({ network_id, text, keys }) => [network_id, text, keys] as const);
  const sorted = (rows: typeof told) => rows.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  assert.deepEqual(sorted(told), sorted(wanted));
  assert.deepEqual(ofApi.map((each) => [each.id, each.keys]).sort(), sent.map((each) => [each, 1]).sort());
  return { sent, isInOrder: told.every(([networkId], nth) => networkId === typed[nth]) };
}

test(`${TYPED} typed beside sends of the API, and a new worker in between: none is lost, doubled or mistaken on the sandbox`, async () => {
  const control = controlOf(sandbox.controlUrl);
  const [own, friend] = ['9990000000011', '9990000000012'];
  const id = await pair('sandbox', (qr) => control.post('/pair', { qr, phone: own }));
  const { isInOrder } = await interleave(
    id,
    friend,
    async (text) => (await control.post(`/phones/${own}/messages`, { to: friend, text })).id,
  );
  assert.ok(isInOrder);
});

test(`${TYPED} typed beside sends of the API, and a new worker in between: none is lost, doubled or mistaken on WhatsApp`, async () => {
  const [own, friend] = [network.phone('5511600000001'), network.phone('5511600000002')];
  const id = await pair('whatsapp', (qr) => own.scan(qr));
  const { sent, isInOrder } = await interleave(id, friend.number, (text) => own.text(friend, text));
  assert.ok(isInOrder);
  for (const each of sent) assert.equal((await friend.message(networkIdOf(each))).timesSeen, 1);
});
