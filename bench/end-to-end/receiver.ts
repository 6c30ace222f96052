import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The users' webhook endpoint: answers 200 and notes when the event of each key arrived. */
export interface Receiver {
  url: string;
  /** Resolves with the time (performance.now) at which the last of these keys arrived. */
  allArrived(keys: ReadonlySet<string>, timeoutMs: number): Promise<number>;
  arrivedAt(key: string): number | undefined;
  close(): void;
}

interface HeardEvent {
  type: string;
  data: { idempotency_key?: string; content?: { text?: string } };
}

const keyOfSent = ({ type, data }: HeardEvent) =>
  type === 'message.sent' ? data.idempotency_key : undefined;

/** `keyOf` names the events that count; by default those of sends, by their idempotency key. */
export async function startReceiver(
  keyOf: (event: HeardEvent) => string | undefined = keyOfSent,
): Promise<Receiver> {
  const arrivals = new Map<string, number>();
  let watch: (() => void) | null = null;
  const server = createServer((req, res) => {
    let text = '';
    req.setEncoding('utf8');
    req.on('data', (chunk) => {
      text += chunk;
    });
    req.on('end', () => {
      const key = keyOf(JSON.parse(text) as HeardEvent);
      if (key) arrivals.set(key, performance.now());
      res.end();
      watch?.();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    arrivedAt: (key) => arrivals.get(key),
    allArrived(keys, timeoutMs) {
      return new Promise((resolve, reject) => {
        const missing = new Set([...keys].filter((key) => !arrivals.has(key)));
        const timer = setTimeout(
          () => reject(new Error(`${missing.size} messages did not arrive`)),
          timeoutMs,
        );
        watch = () => {
          for (const key of missing) {
            if (!arrivals.has(key)) break;
            missing.delete(key);
          }
          if (missing.size > 0) return;
          clearTimeout(timer);
          watch = null;
          resolve(Math.max(...[...keys].map((key) => arrivals.get(key) ?? 0)));
        };
        watch();
      });
    },
    close: () => server.close(),
  };
}
