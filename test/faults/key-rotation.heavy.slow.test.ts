import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { SEALED } from '@posthorn/core/operations/reseal.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { Webhook } from 'standardwebhooks';
import { startBalancer } from '../support/balancer.ts';
import { listen } from '../support/listen.ts';
import { baseEnv, projectRoot, waitFor } from '../support/process.ts';
import { type ConnectedInstance, connectInstances, proveExactlyOnce } from './traffic.ts';
import { useSystem } from './use-system.ts';

const INSTANCES = 4;
const PAUSE_MS = 50;
const OLD = randomBytes(32).toString('hex');
const NEW = randomBytes(32).toString('hex');
/** The settings of each round of restarts (docs/operating.md, "Changing a secret"). */
const ROUNDS = [
  { ENCRYPTION_KEY: OLD, ENCRYPTION_KEYS_ACCEPTED: NEW, JWT_SECRET: OLD, JWT_SECRETS_ACCEPTED: NEW },
  { ENCRYPTION_KEY: NEW, ENCRYPTION_KEYS_ACCEPTED: OLD, JWT_SECRET: NEW, JWT_SECRETS_ACCEPTED: OLD },
  { ENCRYPTION_KEY: NEW, ENCRYPTION_KEYS_ACCEPTED: '', JWT_SECRET: NEW, JWT_SECRETS_ACCEPTED: '' },
];

test('ENCRYPTION_KEY and JWT_SECRET are changed under load: no request fails, each message goes out once, every webhook is signed, and nothing sealed with the old key is left', async (t) => {
  const system = await useSystem(t, {
    messaging: 2,
    workers: 2,
    env: { ENCRYPTION_KEY: OLD, JWT_SECRET: OLD, SHUTDOWN_DELAY_SECONDS: '5' },
  });
  const balancer = await startBalancer(system.urls);
  const secrets = new Map<string, string>();
  const deliveries: { path: string; headers: Record<string, string>; body: string }[] = [];
  const receiver = createServer(async (request, response) => {
    const headers = request.headers as Record<string, string>;
    deliveries.push({ path: request.url!, headers, body: await text(request) });
    response.writeHead(204).end();
  });
  await listen(receiver);
  t.after(async () => {
    await balancer.close();
    receiver.closeAllConnections();
    receiver.close();
  });
  const { company, instances } = await connectInstances(system, INSTANCES);
  const refused: string[] = [];
  let isOver = false;

  async function ask(path: string, body: object, expected: number) {
    const answer = await fetch(balancer.url + path, {
      method: 'POST',
      headers: {
        'x-api-key': company.apiKey,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify(body),
    });
    const said = await answer.text();
    if (answer.status === expected) return JSON.parse(said);
    refused.push(`${answer.status} ${said}`);
    return null;
  }
  /** Adds a webhook of its own for each type of event: the process that serves the request seals its secret. */
  async function addWebhook(): Promise<void> {
    const path = `/${randomUUID()}`;
    const { port } = receiver.address() as AddressInfo;
    const made = await ask(
      '/v1/webhooks',
      { url: `http://127.0.0.1:${port}${path}`, events: ['message.sent'] },
      201,
    );
    if (made) secrets.set(path, made.secret);
  }
  const sendAll = async (instance: ConnectedInstance): Promise<[string, string[]]> => {
    const accepted: string[] = [];
    for (let nth = 0; !isOver && !t.signal.aborted; nth += 1) {
      const to = `5531${String(instances.indexOf(instance) * 100_000 + Math.floor(nth / 2)).padStart(9, '0')}`;
      const made = await ask(
        `/v1/instances/${instance.id}/messages/text`,
        { to, text: `message ${nth}` },
        202,
      );
      if (made) accepted.push(made.message_id);
      await delay(PAUSE_MS);
    }
    return [instance.id, accepted];
  };
  await addWebhook();
  const load = Promise.all(instances.map(sendAll));
  for (const [nth, env] of ROUNDS.entries()) {
    for (const at of [0, 1])
      await Promise.all(
        [system.messaging[at]!, system.workers[at]!].map(async (running) => {
          assert.equal(await running.kill('SIGTERM'), 0, running.output().slice(-2_000));
          await running.restart(env);
          if (running === system.messaging[at]) await waitFor(() => balancer.isIn(system.urls[at]!));
          await addWebhook();
        }),
      );
    if (nth === 1) {
      const { stdout } = await promisify(execFile)(process.execPath, ['admin/main.ts', 'reseal'], {
        cwd: projectRoot,
        env: { ...baseEnv(), ...system.env, ...env },
      });
      assert.match(stdout, /^instances\.credentials: [1-9]\d* checked, [1-9]\d* sealed anew, 0 unreadable$/m);
    }
  }
  const delivered = deliveries.length;
  await waitFor(() => deliveries.length > delivered + 20, 60_000, {
    what: 'deliveries after the last round',
  });
  isOver = true;
  const accepted = new Map(await load);
  const sent = [...accepted.values()].flat().length;

  assert.deepEqual([...refused, ...balancer.failures], []);
  await proveExactlyOnce(system, instances, accepted);
  for (const { path, headers, body } of deliveries) new Webhook(secrets.get(path)!).verify(body, headers);
  const cipher = createCipher(NEW);
  let sealed = 0;
  for (const { table, column } of SEALED) {
    const { rows } = await system.db.query<{ value: Buffer }>(
      `SELECT ${column} AS value FROM ${table} WHERE ${column} <> ''`,
    );
    for (const { value } of rows) assert.doesNotThrow(() => cipher.open(value), `${table}.${column}`);
    sealed += rows.length;
  }
  assert.ok(sealed > INSTANCES + ROUNDS.length);
  console.log(
    `${sent} messages, ${deliveries.length} deliveries to ${secrets.size} webhooks, ${sealed} sealed values`,
  );
});
