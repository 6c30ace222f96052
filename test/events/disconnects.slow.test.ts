import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { insertEvents } from '@posthorn/core/events/insert-events.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { WebSocket } from 'ws';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';
import { newEvent, readSse, startMessaging } from './support.ts';

/** In full, with POSTHORN_FULL=1: 50,000 events and 100 disconnects; otherwise a tenth of the events. */
const EVENTS = process.env.POSTHORN_FULL ? 50_000 : 5_000;
const DISCONNECTS = 100;
const WRITERS = 50;
const SSE_CLIENTS = 8;
const SOCKET_CLIENTS = 2;

let parts: Parts;
let company: SeededCompany;
let servers: { url: string; close(): Promise<void> }[];

before(async () => {
  parts = await createParts();
  company = await seedCompany(parts.db);
  servers = [await startMessaging(parts), await startMessaging(parts)];
});
after(async () => {
  for (const server of servers) await server.close();
  await parts.close();
});

/** A client that is cut off at random and reconnects each time to another process, with its last cursor. */
interface Client {
  ids: string[];
  cut(): void;
  stop(): void;
}

test(`${DISCONNECTS} disconnects while ${WRITERS} writers commit at random delays: every client has every event once, in order`, async (t) => {
  const clients = await Promise.all([
    ...Array.from({ length: SSE_CLIENTS }, () => startSseClient()),
    ...Array.from({ length: SOCKET_CLIENTS }, () => startSocketClient()),
  ]);
  const startedAt = performance.now();
  let writing = true;
  const cutting = (async () => {
    for (let cut = 0; cut < DISCONNECTS; cut += 1) {
      await delay(writing ? ((EVENTS / 5_000) * 4_000 * Math.random() * 2) / DISCONNECTS : 20);
      clients[cut % clients.length]!.cut();
    }
  })();
  await writeAll();
  writing = false;
  await cutting;
  const { rows } = await parts.db.query<{ event_id: string }>(
    'SELECT event_id FROM events WHERE company_id = $1 ORDER BY tx, id',
    [company.companyId],
  );
  const expected = rows.map((row) => row.event_id);
  assert.equal(expected.length, EVENTS);
  await waitFor(() => clients.every((client) => client.ids.length >= EVENTS), 60_000);
  for (const client of clients) {
    client.stop();
    assert.deepEqual(client.ids, expected);
  }
  t.diagnostic(
    `${EVENTS} events to ${clients.length} clients in ${Math.round(performance.now() - startedAt)} ms`,
  );
});

async function writeAll(): Promise<void> {
  const db = createDb({ url: parts.url, poolSize: WRITERS, log: parts.log, name: 'writers' });
  let left = EVENTS;
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      while (left > 0) {
        const count = Math.min(left, 1 + Math.floor(Math.random() * 20));
        left -= count;
        await db.transaction(async (client) => {
          await insertEvents(
            client,
            Array.from({ length: count }, () => newEvent(company.companyId)),
          );
          await delay(Math.random() * 40);
        });
        parts.bus.notify('events', String(company.companyId));
      }
    }),
  );
  await db.close();
}

async function startSseClient(): Promise<Client> {
  const ids: string[] = [];
  let stopped = false;
  let cursor = '';
  let turn = Math.floor(Math.random() * 2);
  let current = await connect();

  async function connect() {
    turn += 1;
    const headers = { 'x-api-key': company.apiKey, ...(cursor === '' ? {} : { 'last-event-id': cursor }) };
    const reader = await readSse(`${servers[turn % 2]!.url}/v1/events/stream`, headers, (frame) => {
      ids.push(JSON.parse(frame.data).event_id);
    });
    void reader.closed.then(async () => {
      cursor = reader.lastId();
      if (!stopped) current = await connect();
    });
    return reader;
  }

  // The stream sends its cursor before the first event, so that a client can be cut at any time.
  await waitFor(() => current.lastId() !== '');
  return {
    ids,
    cut: () => current.cut(),
    stop() {
      stopped = true;
      current.cut();
    },
  };
}

async function startSocketClient(): Promise<Client> {
  const ids: string[] = [];
  let stopped = false;
  let cursor = '';
  let turn = 0;
  let current = await connect();

  async function connect(): Promise<WebSocket> {
    turn += 1;
    const query = cursor === '' ? '' : `?after=${cursor}`;
    const url = `${servers[turn % 2]!.url.replace('http', 'ws')}/v1/events/ws${query}`;
    const socket = new WebSocket(url, { headers: { 'x-api-key': company.apiKey } });
    socket.on('message', (data) => {
      const frame = JSON.parse(String(data));
      if (frame.heartbeat) cursor = frame.heartbeat.cursor;
      else {
        cursor = frame.cursor;
        ids.push(frame.event_id);
      }
    });
    socket.on('error', () => undefined);
    socket.on('close', async () => {
      if (!stopped) current = await connect();
    });
    await new Promise((resolve) => socket.once('open', resolve));
    await waitFor(() => cursor !== '');
    return socket;
  }

  return {
    ids,
    cut: () => current.terminate(),
    stop() {
      stopped = true;
      current.terminate();
    },
  };
}
