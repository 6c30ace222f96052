import { randomUUID } from 'node:crypto';
import { waitFor } from '@posthorn/test/support/process.ts';
import { seedCompany } from '@posthorn/test/support/seed.ts';
import { Pool } from 'undici';
import { cpuTimeOfTreeUs, cpuTimeUs } from '../cpu/process-time.ts';
import { launchStandalone } from '../end-to-end/pipelines.ts';
import { startReceiver } from '../end-to-end/receiver.ts';
import type { BenchDatabases } from '../servers.ts';
import { type Child, nowMs } from './child.ts';
import type { Side } from './side.ts';

const TIMEOUT_MS = 120_000;

/** {@link Side} with the process behind it. */
export interface PosthornSide extends Side {
  pid: number;
  /** Connects one more account. */
  pair(): Promise<void>;
}

/** Our whole service in one process: from the request over PostgreSQL to the network, and back to a webhook. */
export async function startPosthorn(
  databases: BenchDatabases,
  network: Child,
  at: { url: string; root: string },
  accounts: number,
): Promise<PosthornSide> {
  const receiver = await startReceiver(({ type, data }) =>
    type === 'message.received' ? data.content?.text : undefined,
  );
  const { url, process, db } = await launchStandalone(databases, 'bench_whatsapp', {
    NETWORK_DRIVERS: 'sandbox,whatsapp',
    WHATSAPP_URL: at.url,
    WHATSAPP_TEST_ROOT: at.root,
    NODE_OPTIONS: '--import ./test/support/whatsapp/trust-root.ts',
    PACING_MIN_MS: '0',
  });
  const { apiKey } = await seedCompany(db, { requestsPerMinute: 100_000_000 });
  const pool = new Pool(url, { connections: 64 });
  const call = async (method: 'GET' | 'POST' | 'PATCH', path: string, body?: object) => {
    const answer = await pool.request({
      ...{ method, path: `/v1${path}` },
      headers: {
        ...{ 'x-api-key': apiKey, accept: 'application/json', 'idempotency-key': randomUUID() },
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body ? JSON.stringify(body) : null,
    });
    const text = await answer.body.text();
    return { status: answer.statusCode, body: text === '' ? null : JSON.parse(text) };
  };
  await call('POST', '/webhooks', { url: receiver.url, events: ['message.sent', 'message.received'] });
  const [numbers, instanceIds]: [string[], string[]] = [[], []];
  const pairOne = async () => {
    const { id, number } = await pair(call, network, numbers.length);
    numbers.push(number);
    instanceIds.push(id);
  };
  for (let nth = 0; nth < accounts; nth += 1) await pairOne();
  const behindMs = nowMs() - performance.now();
  return {
    name: 'posthorn, from the request and to the webhook',
    numbers,
    pid: process.pid(),
    pair: pairOne,
    async send(texts, atOnce) {
      const begunAtMs = nowMs();
      const left = [...texts];
      await Promise.all(
        Array.from({ length: atOnce }, async () => {
          for (let next = left.shift(); next; next = left.shift()) {
            const { account, to, text } = next;
            const answer = await call('POST', `/instances/${instanceIds[account]}/messages/text`, {
              to,
              text,
            });
            if (answer.status !== 202) throw new Error(JSON.stringify(answer.body));
          }
        }),
      );
      return begunAtMs;
    },
    received: async (texts) => behindMs + (await receiver.allArrived(new Set(texts), TIMEOUT_MS)),
    async costs() {
      const { rows } = await db.query<{ n: string }>(
        'SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS n',
      );
      return {
        cpuMs: cpuTimeUs(process.pid()) / 1_000,
        postgresMs: cpuTimeOfTreeUs(databases.server.pid()) / 1_000,
        commits: Number(rows[0]!.n),
      };
    },
    async stop() {
      await pool.close();
      await process.kill('SIGTERM');
      receiver.close();
    },
  };
}

type Call = (
  method: 'GET' | 'POST' | 'PATCH',
  path: string,
  body?: object,
  // biome-ignore lint/suspicious/noExplicitAny: fields of different answers
) => Promise<{ status: number; body: any }>;

async function pair(call: Call, network: Child, nth: number): Promise<{ id: string; number: string }> {
  const { id } = (await call('POST', '/instances', { name: `Number ${nth}`, driver: 'whatsapp' })).body;
  await call('PATCH', `/instances/${id}/settings`, {
    humanize_enabled: false,
    anti_spam_guard_enabled: false,
  });
  await call('POST', `/instances/${id}/connect`);
  const qr = await waitFor(async () => {
    const shown = await call('GET', `/instances/${id}/qr`);
    return shown.status === 200 && (shown.body.qr as string);
  });
  const number = await network.ask<string>('pair', { qr });
  const isConnected = async () => (await call('GET', `/instances/${id}`)).body.state === 'CONNECTED';
  await waitFor(isConnected, TIMEOUT_MS, { what: `instance ${nth} is connected` });
  return { id, number };
}
