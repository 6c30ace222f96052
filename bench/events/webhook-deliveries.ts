/**
 * Webhook deliveries per second, claimed from the database, signed, sent and logged, compared with a bare
 * undici POST loop with a similar body at the same concurrency (aim: at least 0.5x). The receiver runs in its
 * own process; with PostgreSQL that makes three on the machine.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { createBus } from '@posthorn/core/platform/broker/bus.ts';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { createOutbound } from '@posthorn/core/platform/http/outbound-http.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createWebhookDispatcher } from '@posthorn/worker/webhooks/webhook-dispatcher.ts';
import { Pool } from 'undici';
import { cpuTimeOfTreeUs } from '../cpu/process-time.ts';
import { median } from '../statistics.ts';

const DELIVERIES = 30_000;
const CONCURRENCY = 64;
const TEXT = 'x'.repeat(700);

interface Figures {
  perSecond: number;
  /** CPU microseconds per delivery in this process and in PostgreSQL. */
  ownUs: number;
  postgresUs: number;
}

export interface DeliveryRow extends Figures {
  name: string;
}

/** Alternates both, round after round; returns medians, and the median of the ratios. */
export async function benchWebhookDeliveries(
  databaseUrl: string,
  options: { rounds: number; postgresPid: number },
): Promise<{ rows: DeliveryRow[]; ratio: number }> {
  const log = createLog({ level: 'warn', role: 'bench' });
  const db = createDb({ url: databaseUrl, poolSize: 8, log, name: 'bench', plans: 'indexed' });
  const receiver = await startReceiver();
  const postgresUs = () => cpuTimeOfTreeUs(options.postgresPid);
  const bare: Figures[] = [];
  const engine: Figures[] = [];
  try {
    for (let round = 0; round < options.rounds; round += 1) {
      const { companyId, eventBody } = await prepare(db, `http://127.0.0.1:${receiver.port}/hook`);
      bare.push(await measured(postgresUs, () => bareLoop(receiver.port, eventBody)));
      engine.push(await deliverAll({ db, databaseUrl, companyId, receiver, postgresUs }));
    }
  } finally {
    receiver.stop();
    await db.close();
  }
  return {
    rows: [
      { name: 'bare undici POST loop', ...medians(bare) },
      { name: 'delivery engine: claimed, signed, sent, logged', ...medians(engine) },
    ],
    ratio: median(engine.map(({ perSecond }, round) => perSecond / bare[round]!.perSecond)),
  };
}

function medians(rounds: readonly Figures[]): Figures {
  return {
    perSecond: median(rounds.map(({ perSecond }) => perSecond)),
    ownUs: median(rounds.map(({ ownUs }) => ownUs)),
    postgresUs: median(rounds.map(({ postgresUs }) => postgresUs)),
  };
}

async function measured(postgresUs: () => number, work: () => Promise<void>): Promise<Figures> {
  const postgresBefore = postgresUs();
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const used = process.cpuUsage(cpu);
  return {
    perSecond: DELIVERIES / seconds,
    ownUs: (used.user + used.system) / DELIVERIES,
    postgresUs: (postgresUs() - postgresBefore) / DELIVERIES,
  };
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

async function isAnyLeft(db: Db, companyId: number): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM webhook_deliveries WHERE company_id = $1 LIMIT 1', [
    companyId,
  ]);
  return rows.length > 0;
}

async function deliverAll(options: {
  db: Db;
  databaseUrl: string;
  companyId: number;
  receiver: Receiver;
  postgresUs: () => number;
}): Promise<Figures> {
  const { db, receiver, companyId } = options;
  const log = createLog({ level: 'warn', role: 'bench' });
  const bus = await createBus({ url: options.databaseUrl, log, name: 'bench' });
  const outbound = createOutbound({ allowPrivate: true, connectionsPerOrigin: CONCURRENCY });
  const dispatcher = createWebhookDispatcher({
    db,
    bus,
    clock: systemClock,
    log,
    cipher: createCipher('0'.repeat(64)),
    outbound,
  });
  const before = await receiver.received();
  const figures = await measured(options.postgresUs, async () => {
    await dispatcher.start();
    // Wait for the receiver first: counting the remaining rows would load the database being measured.
    while ((await receiver.received()) < before + DELIVERIES) await delay(20);
    while (await isAnyLeft(db, companyId)) await delay(2);
  });
  await dispatcher.stop();
  await outbound.close();
  await bus.close();
  return figures;
}

async function bareLoop(port: number, body: string): Promise<void> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: CONCURRENCY, pipelining: 1 });
  let left = DELIVERIES;
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
  await pool.close();
}

interface Receiver {
  port: number;
  /** Requests so far. */
  received(): Promise<number>;
  stop(): void;
}

async function startReceiver(): Promise<Receiver> {
  const child = spawn(process.execPath, [new URL('./receiver-main.ts', import.meta.url).pathname], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const next = () => new Promise<number>((resolve) => lines.once('line', (line) => resolve(Number(line))));
  return {
    port: await next(),
    received() {
      child.stdin.write('\n');
      return next();
    },
    stop: () => child.stdin.end(),
  };
}
