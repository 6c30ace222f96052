import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer, request } from 'node:http';
import type { TestContext } from 'node:test';
import type { OfficialNumber } from '@posthorn/network/sandbox/graph/model.ts';
import { createGraphServer, type GraphServer } from '@posthorn/network/sandbox/graph/server.ts';
import { listen } from '../support/listen.ts';
import { type RunningProcess, waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import type { System } from '../support/system.ts';
import { useSystem } from './use-system.ts';

/** The time limit of every wait: a whole run on a busy machine takes minutes. */
export const LAST_MS = 600_000;

/** Separate processes with an instance of an official number, on a simulated Cloud API. */
export interface CloudSystem {
  system: System;
  graph: GraphServer;
  number: OfficialNumber;
  instanceId: string;
  /** Repeats under one key until it is accepted. Returns the message's id. */
  send(to: string, text: string): Promise<string>;
  /** Each of these people writes once, which opens the window to them. */
  greet(people: readonly string[]): Promise<void>;
  /** Waits until every posted body has been handed over. */
  drained(): Promise<void>;
  /** The messages received, by the network's id, with the number of events of each. */
  received(): Promise<Map<string, number>>;
}

export async function useCloudSystem(
  t: TestContext,
  { workers, env = {} }: { workers: number; env?: Record<string, string> },
): Promise<CloudSystem> {
  const graph = await createGraphServer();
  t.after(() => graph.close());
  const door = await openDoor();
  t.after(() => door.close());
  const system = await useSystem(t, {
    workers,
    env: { NETWORK_DRIVERS: 'whatsapp-cloud', GRAPH_URL: graph.url, PUBLIC_URL: door.url, ...env },
  });
  door.leadTo(system.urls[0]!);
  const { apiKey } = await seedCompany(system.db);
  const { instanceId, number } = await connect(system, graph, apiKey);

  async function received(): Promise<Map<string, number>> {
    const { rows } = await system.db.query<{ id: string; n: number }>(
      `SELECT m.network_id AS id, count(e.id)::integer AS n
       FROM messages m LEFT JOIN events e ON e.type = 'message.received' AND e.data->'message_ids'->>0 = m.id::text
       WHERE m.direction = 'inbound' GROUP BY 1`,
    );
    return new Map(rows.map(({ id, n }) => [id, n]));
  }
  return {
    ...{ system, graph, number, instanceId, received },
    async send(to, text) {
      const key = randomUUID();
      const path = `/${instanceId}/messages/text`;
      return waitFor(
        async () => {
          const answer = await call(system, apiKey, 'POST', path, { to, text }, key).catch(() => null);
          return answer?.status === 202 && (answer.body.message_id as string);
        },
        LAST_MS,
        { what: 'a 202', everyMs: 50 },
      );
    },
    async greet(people) {
      const ids = people.map((person) => graph.write(person, number, 'text', { body: 'First' }));
      await waitFor(async () => {
        const known = await received();
        return ids.every((id) => known.has(id));
      }, LAST_MS);
    },
    async drained() {
      const isEmpty = async () => {
        const { rows } = await system.db.query<{ n: number }>(
          'SELECT count(*)::integer AS n FROM network_inbox',
        );
        return rows[0]!.n === 0;
      };
      await waitFor(async () => graph.poster(number).pending() === 0 && (await isEmpty()), LAST_MS, {
        what: 'all webhooks are handed over',
        everyMs: 200,
      });
    },
  };
}

/**
 * Kills these processes one after the other, `kills` times each, spread evenly over the time in which `progress` goes
 * from 0 to 1. Each runs again before the next one is killed.
 */
export async function killAlong(
  kills: number,
  progress: () => number,
  victims: () => readonly RunningProcess[],
): Promise<void> {
  for (let kill = 0; kill < kills; kill += 1) {
    await waitFor(() => progress() >= (kill + 0.5) / kills, LAST_MS, {
      what: `the time of kill ${kill + 1}`,
    });
    for (const victim of victims()) {
      await victim.kill('SIGKILL');
      await victim.restart();
    }
  }
}

/** An address that is known before the API starts, and that leads to it. */
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
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    leadTo(url: string) {
      target = url;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: answers of an API under test are looked at field by field
type Answered = any;

async function call(
  system: System,
  apiKey: string,
  method: string,
  path: string,
  body?: object,
  key = randomUUID(),
): Promise<{ status: number; body: Answered }> {
  const response = await fetch(`${system.urls[0]}/v1/instances${path}`, {
    method,
    headers: { 'x-api-key': apiKey, 'idempotency-key': key, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, body: await response.json() };
}

async function connect(system: System, graph: GraphServer, apiKey: string) {
  const settings = { humanize_enabled: false, anti_spam_guard_enabled: false };
  const created = await call(system, apiKey, 'POST', '', {
    name: 'Official',
    driver: 'whatsapp-cloud',
    settings,
  });
  const instanceId = created.body.id as string;
  const number = graph.addNumber({ phone: '5511900000000' });
  const given = await call(system, apiKey, 'PUT', `/${instanceId}/credentials`, {
    ...{ phone_number_id: number.id, business_account_id: number.businessId },
    ...{ access_token: number.token, app_secret: number.appSecret },
  });
  assert.equal(given.status, 200, JSON.stringify(given.body));
  const state = async () => (await call(system, apiKey, 'GET', `/${instanceId}`)).body.state;
  await waitFor(async () => (await state()) === 'CONNECTED', LAST_MS);
  return { instanceId, number };
}
