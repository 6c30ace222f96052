/**
 * Webhook deliveries a second, claimed from the database, signed, sent and logged, next to a bare undici
 * POST loop of the same body at the same concurrency (aim: at least 0.5x). Needs a migrated database:
 * DATABASE_URL. The receiver runs in a process of its own; with PostgreSQL that makes three on the machine.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { createBus } from '@posthorn/core/platform/bus.ts';
import { systemClock } from '@posthorn/core/platform/clock.ts';
import { createDb, type Db } from '@posthorn/core/platform/db.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { createLog } from '@posthorn/core/platform/log.ts';
import { createOutbound } from '@posthorn/core/platform/outbound-http.ts';
import { createWebhookDispatcher } from '@posthorn/worker/webhooks/webhook-dispatcher.ts';
import { Pool } from 'undici';

const DELIVERIES = Number(process.env.DELIVERIES ?? 20_000);
const CONCURRENCY = 64;
const TEXT = 'x'.repeat(700);

const ROUNDS = 3;

interface Figures {
  perSecond: number;
  cpuUs: number;
}

/** One row for each of the two, medians of rounds taken in turns. */
export async function benchWebhookDeliveries(databaseUrl: string): Promise<object[]> {
  const log = createLog({ level: 'warn', role: 'bench' });
  const db = createDb({ url: databaseUrl, poolSize: 8, log, name: 'bench', plans: 'indexed' });
  const receiver = await startReceiver();
  const bare: Figures[] = [];
  const engine: Figures[] = [];
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { companyId, eventBody } = await prepare(db, `http://127.0.0.1:${receiver.port}/hook`);
      bare.push(await bareLoop(receiver.port, eventBody));
      engine.push(await deliverAll(db, databaseUrl, companyId));
    }
  } finally {
    receiver.stop();
    await db.close();
  }
  const base = middle(bare);
  return [
    row('bare undici POST loop', base, base),
    row('delivery engine: claimed, signed, sent, logged', middle(engine), base),
  ];
}

function row(name: string, figures: Figures, base: Figures) {
  return {
    name,
    'deliveries/s': Math.round(figures.perSecond),
    ratio: Number((figures.perSecond / base.perSecond).toFixed(2)),
    'CPU µs of this process each': Math.round(figures.cpuUs),
  };
}

function middle(figures: readonly Figures[]): Figures {
  return figures.toSorted((a, b) => a.perSecond - b.perSecond)[Math.floor(figures.length / 2)]!;
}

async function prepare(db: Db, url: string): Promise<{ companyId: number; eventBody: string }> {
  const slug = `bench-${randomUUID()}`;
  const { rows } = await db.query<{ id: number }>(
    'INSERT INTO companies (name, slug) VALUES ($1, $1) RETURNING id',
    [slug],
  );
  const companyId = rows[0]!.id;
  const secret = createCipher('0'.repeat(64)).seal(`whsec_${Buffer.alloc(32, 7).toString('base64')}`);
  await db.query(`INSERT INTO webhooks (company_id, url, patterns, secret) VALUES ($1, $2, '{*}', $3)`, [
    companyId,
    url,
    secret,
  ]);
  const data = {
    message_ids: [randomUUID()],
    chat: '5511999990000@s.whatsapp.net',
    message_type: 'text',
    content: TEXT,
  };
  await db.query(
    `WITH e AS (
       INSERT INTO events (tx, event_id, company_id, type, data, created_at)
       SELECT (SELECT event_tx()), gen_random_uuid(), $1, 'message.sent', $2, date_trunc('milliseconds', now())
       FROM generate_series(1, $3) RETURNING event_id, created_at)
     INSERT INTO webhook_deliveries (company_id, webhook_id, event_id, event_created_at, next_attempt_at, created_at)
     SELECT $1, (SELECT id FROM webhooks WHERE company_id = $1), event_id, created_at, created_at, created_at FROM e`,
    [companyId, data, DELIVERIES],
  );
  await db.query('ANALYZE events');
  await db.query('ANALYZE webhook_deliveries');
  return { companyId, eventBody: JSON.stringify({ event_id: randomUUID(), type: 'message.sent', data }) };
}

async function deliverAll(db: Db, url: string, companyId: number) {
  const log = createLog({ level: 'warn', role: 'bench' });
  const bus = await createBus({ url, log, name: 'bench' });
  const outbound = createOutbound({ allowPrivate: true, connectionsPerOrigin: CONCURRENCY });
  const dispatcher = createWebhookDispatcher({
    db,
    bus,
    clock: systemClock,
    log,
    cipher: createCipher('0'.repeat(64)),
    outbound,
  });
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  await dispatcher.start();
  for (;;) {
    const { rows } = await db.query<{ left: number }>(
      'SELECT count(*) AS left FROM webhook_deliveries WHERE company_id = $1',
      [companyId],
    );
    if (rows[0]!.left === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const used = process.cpuUsage(cpu);
  await dispatcher.stop();
  await outbound.close();
  await bus.close();
  return { perSecond: DELIVERIES / seconds, cpuUs: (used.user + used.system) / DELIVERIES };
}

async function bareLoop(port: number, body: string) {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: CONCURRENCY, pipelining: 1 });
  let left = DELIVERIES;
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      while (left-- > 0) {
        const answer = await pool.request({
          method: 'POST',
          path: '/hook',
          headers: { 'content-type': 'application/json' },
          body,
        });
        await answer.body.dump();
      }
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const used = process.cpuUsage(cpu);
  await pool.close();
  return { perSecond: DELIVERIES / seconds, cpuUs: (used.user + used.system) / DELIVERIES };
}

async function startReceiver(): Promise<{ port: number; stop(): void }> {
  const child = spawn(process.execPath, [new URL('./receiver-main.ts', import.meta.url).pathname], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const port = await new Promise<number>((resolve) => lines.once('line', (line) => resolve(Number(line))));
  return { port, stop: () => child.stdin.end() };
}

if (import.meta.main) {
  if (!process.env.DATABASE_URL) throw new Error('DATABASE_URL is required');
  console.table(await benchWebhookDeliveries(process.env.DATABASE_URL));
}
