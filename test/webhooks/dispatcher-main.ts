/**
 * The delivery engine alone, as a process that can be measured and killed. Settings from the environment: DATABASE_URL,
 * TIMEOUT_MS, LEASE_MS. Prints `ready`; it answers each line of input with its memory in bytes, after a garbage
 * collection when it runs with --expose-gc.
 */
import { createInterface } from 'node:readline';
import { createBus } from '@posthorn/core/platform/broker/bus.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { createOutbound } from '@posthorn/core/platform/http/outbound-http.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { HELD_WITH_SLOW_MAX } from '@posthorn/worker/webhooks/claim-state.ts';
import { createWebhookDispatcher } from '@posthorn/worker/webhooks/webhook-dispatcher.ts';
import { cipher } from './support.ts';

const url = process.env.DATABASE_URL!;
const log = createLog({ level: 'warn', role: 'worker' });
const dispatcher = createWebhookDispatcher({
  db: createDb({ url, poolSize: 6, log, name: 'test worker', plans: 'indexed' }),
  bus: await createBus({ url, log, name: 'test worker' }),
  clock: systemClock,
  log,
  cipher,
  outbound: createOutbound({ allowPrivate: true, connectionsPerOrigin: HELD_WITH_SLOW_MAX }),
  ...(process.env.TIMEOUT_MS ? { timeoutMs: Number(process.env.TIMEOUT_MS) } : {}),
  ...(process.env.LEASE_MS ? { leaseMs: Number(process.env.LEASE_MS) } : {}),
});
await dispatcher.start();
console.log('ready');
createInterface({ input: process.stdin })
  .on('line', () => {
    globalThis.gc?.();
    console.log(process.memoryUsage().rss);
  })
  .on('close', () => process.exit(0));
