import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { CONNECTIONS, nextText, type Target } from '../load.ts';
import { quantile } from '../statistics.ts';
import type { Receiver } from './receiver.ts';

const TIMEOUT_MS = 60_000;

/**
 * Sends `count` texts as fast as they are accepted; returns messages per second until the last webhook has
 * arrived.
 */
export async function measureRate(target: Target, receiver: Receiver, count: number): Promise<number> {
  const startedAt = performance.now();
  const lastAt = await receiver.allArrived(await sendTexts(target, count), TIMEOUT_MS);
  return (count * 1_000) / (lastAt - startedAt);
}

/** Sends `count` texts as fast as they are accepted; returns their idempotency keys when the last one is accepted. */
export async function sendTexts(target: Target, count: number): Promise<Set<string>> {
  const pool = new Pool(target.url, { connections: CONNECTIONS });
  const keys = new Set<string>();
  let left = count;
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (left > 0) {
        left -= 1;
        keys.add(await sendText(pool, target, left));
      }
    }),
  );
  await pool.close();
  return keys;
}

/**
 * Sends at a fixed rate, independent of the answers; returns milliseconds from the request to the webhook.
 */
export async function measureLatency(
  target: Target,
  receiver: Receiver,
  options: { perSecond: number; seconds: number },
): Promise<{ p50Ms: number; p99Ms: number }> {
  const pool = new Pool(target.url, { connections: CONNECTIONS });
  const sentAt = new Map<string, number>();
  const sending: Promise<string>[] = [];
  const startedAt = performance.now();
  const total = Math.floor(options.perSecond * options.seconds);
  for (let sent = 0; sent < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - startedAt) / 1_000) * options.perSecond));
    for (; sent < due; sent += 1) {
      sending.push(sendText(pool, target, sent, (key) => sentAt.set(key, performance.now())));
    }
    await delay(1);
  }
  await Promise.all(sending);
  await receiver.allArrived(new Set(sentAt.keys()), TIMEOUT_MS);
  await pool.close();
  const times = [...sentAt].map(([key, at]) => (receiver.arrivedAt(key) ?? Number.NaN) - at);
  return { p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99) };
}

async function sendText(
  pool: Pool,
  target: Target,
  turn: number,
  began?: (key: string) => void,
): Promise<string> {
  const { to, text, key } = nextText();
  began?.(key);
  const answer = await pool.request({
    method: 'POST',
    path: `/v1/instances/${target.instanceIds[turn % target.instanceIds.length]}/messages/text`,
    headers: { 'content-type': 'application/json', 'x-api-key': target.apiKey, 'idempotency-key': key },
    body: JSON.stringify({ to, text }),
  });
  if (answer.statusCode !== 202) throw new Error(`${answer.statusCode} ${await answer.body.text()}`);
  await answer.body.dump();
  return key;
}
