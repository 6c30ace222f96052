import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createGraphServer, type GraphServer } from '@posthorn/network/sandbox/graph/server.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import type { System } from '../support/system.ts';
import { sized } from './size.ts';
import { useSystem } from './use-system.ts';

const KILLS = sized(4, 10, 20);
const SENDS = sized(200, 1_000, 10_000);
const PEOPLE = 40;
const LOST = 0.1;
const LAST_MS = 180_000;

test(`${KILLS} kills of workers and the API, ${SENDS} sends of which a tenth get no answer, and as many messages received, doubled and shuffled: nothing is sent twice or lost, and each outcome is true`, async (t) => {
  const graph = await createGraphServer();
  t.after(() => graph.close());
  const door = await openDoor();
  t.after(() => door.close());
  const system = await useSystem(t, {
    workers: 2,
    env: { NETWORK_DRIVERS: 'whatsapp-cloud', GRAPH_URL: graph.url, PUBLIC_URL: door.url },
  });
  door.leadTo(system.urls[0]!);
  const { call, instanceId, number } = await connect(system, graph);
  const people = Array.from({ length: PEOPLE }, (_, nth) => `55319000${String(nth).padStart(5, '0')}`);
  graph.manners(number, { doubled: true, shuffled: true, perBody: 5 });
  for (const person of people) graph.write(person, number, 'text', { body: 'First' });
  await waitFor(async () => (await received(system)).size === PEOPLE, LAST_MS);

  for (const at of ['before', 'after'] as const)
    graph.fault({ kind: 'lose_answer', at }, { times: Number.POSITIVE_INFINITY, probability: LOST / 2 });
  const sent: string[] = [];
  const sending = Promise.all(
    Array.from({ length: 8 }, async (_, lane) => {
      for (let nth = lane; nth < SENDS; nth += 8)
        sent.push(await send(call, people[nth % PEOPLE]!, `text ${nth}`));
    }),
  );
  const writing = (async () => {
    for (let nth = 0; nth < SENDS; nth += 1) {
      graph.write(people[nth % PEOPLE]!, number, 'text', { body: `inbound ${nth}` });
      if (nth % 20 === 0) await delay(20);
    }
  })();
  for (let kill = 0; kill < KILLS; kill += 1) {
    await delay(randomInt(400, 1_200));
    const victim = kill % 4 === 3 ? system.messaging[0]! : system.workers[randomInt(system.workers.length)]!;
    await victim.kill('SIGKILL');
    await victim.restart();
  }
  await Promise.all([sending, writing]);

  const taken = new Map<string, number>();
  for (const { callbackData } of graph.world.ledger)
    taken.set(callbackData!, (taken.get(callbackData!) ?? 0) + 1);
  await waitFor(async () => graph.poster(number).pending() === 0 && (await waiting(system)) === 0, LAST_MS, {
    what: 'all webhooks are handed over',
    everyMs: 200,
  });
  const outcomes = await waitFor(
    async () => {
      const all = await outcomesOf(system);
      const open = all.filter(
        ({ status, attempts, id }) => status === 'queued' && !(attempts > 0 && !taken.has(nameOf(id))),
      );
      return open.length === 0 && all;
    },
    LAST_MS,
    { what: 'every message has an outcome, or waits for one that the network has not', everyMs: 200 },
  );
  assert.deepEqual(
    [...taken.values()].filter((times) => times > 1),
    [],
    'nothing was sent twice',
  );
  const wrong = outcomes.filter(({ id, status }) => (status === 'delivered') !== taken.has(nameOf(id)));
  assert.deepEqual(wrong, [], 'delivered is what the network took, and nothing else');
  assert.equal(outcomes.length, sent.length);
  const inbound = await received(system);
  assert.deepEqual(
    [inbound.size, Math.max(...inbound.values())],
    [SENDS + PEOPLE, 1],
    'each message came once',
  );
  const untaken = outcomes.filter(({ id }) => !taken.has(nameOf(id))).length;
  t.diagnostic(
    `${sent.length} sends, of which the network took ${taken.size} and ${untaken} are unknown; instance ${instanceId}`,
  );
});

/** An address that is known before the API is there, and that leads to it. */
async function openDoor() {
  let target = '';
  const server = createServer((incoming, response) => {
    const outgoing = request(
      `${target}${incoming.url}`,
      { method: incoming.method, headers: incoming.headers },
      (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.on('error', () => response.destroy()).pipe(response);
      },
    );
    outgoing.once('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
    incoming.pipe(outgoing);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadTo(url: string) {
      target = url;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

type Call = (
  method: string,
  path: string,
  body?: object,
  key?: string,
) => Promise<{ status: number; body: Answered }>;
// biome-ignore lint/suspicious/noExplicitAny: answers of an API under test are looked at field by field
type Answered = any;

async function connect(system: System, graph: GraphServer) {
  const { apiKey } = await seedCompany(system.db);
  let base = '';
  const call: Call = async (method, path, body, key = randomUUID()) => {
    const headers = { 'x-api-key': apiKey, 'idempotency-key': key, 'content-type': 'application/json' };
    const response = await fetch(`${system.urls[0]}/v1/instances${base}${path}`, {
      method,
      headers,
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: response.status, body: await response.json() };
  };
  const settings = { humanize_enabled: false, anti_spam_guard_enabled: false };
  const created = await call('POST', '', { name: 'Official', driver: 'whatsapp-cloud', settings });
  base = `/${created.body.id}`;
  const number = graph.addNumber({ phone: '5511900000000' });
  const given = await call('PUT', '/credentials', {
    ...{ phone_number_id: number.id, business_account_id: number.businessId },
    ...{ access_token: number.token, app_secret: number.appSecret },
  });
  assert.equal(given.status, 200, JSON.stringify(given.body));
  await waitFor(async () => (await call('GET', '')).body.state === 'CONNECTED', 60_000);
  return { call, instanceId: created.body.id as string, number };
}

/** Until it is accepted, under one key. Answers the message's id. */
async function send(call: Call, to: string, text: string): Promise<string> {
  const key = randomUUID();
  return waitFor(
    async () => {
      const answer = await call('POST', '/messages/text', { to, text }, key).catch(() => null);
      return answer?.status === 202 && (answer.body.message_id as string);
    },
    LAST_MS,
    { what: 'a 202', everyMs: 50 },
  );
}

const nameOf = (id: string) => id.replaceAll('-', '').toUpperCase();

async function outcomesOf({ db }: System) {
  const { rows } = await db.query<{ id: string; status: string; attempts: number }>(
    `SELECT m.id, m.status, coalesce(o.attempts, 0) AS attempts FROM messages m LEFT JOIN outbox o ON o.task_id = m.id
     WHERE m.direction = 'outbound'`,
  );
  return rows;
}

/** How often each received message was told. */
async function received({ db }: System): Promise<Map<string, number>> {
  const { rows } = await db.query<{ id: string; n: number }>(
    `SELECT data->'message_ids'->>0 AS id, count(*)::integer AS n FROM events WHERE type = 'message.received' GROUP BY 1`,
  );
  return new Map(rows.map(({ id, n }) => [id, n]));
}

async function waiting({ db }: System): Promise<number> {
  const { rows } = await db.query<{ n: number }>('SELECT count(*)::integer AS n FROM network_inbox');
  return rows[0]!.n;
}
