import { setTimeout as delay } from 'node:timers/promises';
import type { Client, Instance } from '@posthorn/sdk/index.ts';
import { CommandError } from '../../fault.ts';

const FIRST_PAUSE_MS = 200;
/** Requests count against the company's limit of 60 a minute: a long wait must not use it up. */
const LAST_PAUSE_MS = 3_000;

/**
 * Waits until the instance is CONNECTED. Throws CommandError when it cannot become so any more, or after `timeoutMs`.
 */
export async function waitUntilConnected(
  deps: { client: Client; signal: AbortSignal },
  instanceId: string,
  timeoutMs = 60_000,
): Promise<Instance> {
  const deadline = performance.now() + timeoutMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LAST_PAUSE_MS)) {
    const instance = await deps.client.instances.get({ instanceId }, { signal: deps.signal });
    if (instance.state === 'CONNECTED') return instance;
    if (instance.state === 'BANNED' || instance.state === 'HARD_PAUSED') {
      throw new CommandError(`the instance is ${instance.state}${why(instance)}`);
    }
    if (performance.now() + pauseMs > deadline) {
      const hint = instance.state === 'PAIRING' ? '; pair it: msgctl pair, or msgctl instances qr' : '';
      throw new CommandError(`the instance is still ${instance.state}${why(instance)}${hint}`);
    }
    await delay(pauseMs, undefined, { signal: deps.signal });
  }
}

function why({ last_error }: Instance): string {
  return last_error ? ` (${last_error})` : '';
}
