/**
 * A steady flow of events for some companies and the endpoint that receives them, in a process of its own so that other
 * work of the test does not affect its times. Settings: DATABASE_URL. Prints its port; it answers a line `<company ids>
 * <per second> <seconds>` with the latencies from commit to receipt.
 */
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { insertEvents } from '@posthorn/core/events/insert-events.ts';
import { createBus } from '@posthorn/core/platform/broker/bus.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { newEvent } from '../events/support.ts';
import { listen } from '../support/listen.ts';
import { percentile } from './support.ts';

const url = process.env.DATABASE_URL!;
const log = createLog({ level: 'warn', role: 'live' });
const db = createDb({ url, poolSize: 10, log, name: 'live', plans: 'indexed' });
const bus = await createBus({ url, log, name: 'live' });
/** When each event was committed, and when it was received. */
const committed = new Map<string, number>();
const received = new Map<string, number>();

const server = createServer((req, res) => {
  const at = performance.now();
  const id = String(req.headers['webhook-id']);
  if (!received.has(id)) received.set(id, at);
  req.resume();
  req.on('end', () => res.end('ok'));
});
console.log(await listen(server));

async function run(companyIds: readonly number[], perSecond: number, seconds: number): Promise<string> {
  committed.clear();
  received.clear();
  const count = Math.round(seconds * perSecond);
  const startedAt = performance.now();
  for (let i = 0; i < count; i += 1) {
    const due = startedAt + (i * 1000) / perSecond;
    if (due > performance.now()) await delay(due - performance.now());
    const event = newEvent(companyIds[i % companyIds.length]!);
    void insertEvents(db, [event]).then(() => {
      committed.set(event.eventId, performance.now());
      bus.notify('deliveries');
    });
  }
  const until = performance.now() + 60_000;
  const missing = () => committed.size < count || [...committed.keys()].some((id) => !received.has(id));
  while (missing() && performance.now() < until) await delay(50);
  const latencies = [...committed].map(([id, at]) =>
    Math.max(0, (received.get(id) ?? Number.POSITIVE_INFINITY) - at),
  );
  return JSON.stringify({
    p50: percentile(latencies, 0.5),
    p95: percentile(latencies, 0.95),
    p99: percentile(latencies, 0.99),
    count: latencies.length,
  });
}

createInterface({ input: process.stdin })
  .on('line', async (line) => {
    const [ids, perSecond, seconds] = line.split(' ');
    console.log(await run(ids!.split(',').map(Number), Number(perSecond), Number(seconds)));
  })
  .on('close', () => process.exit(0));
