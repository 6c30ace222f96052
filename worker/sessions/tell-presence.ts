import type { PresenceUpdate } from '@posthorn/core/network/facts.ts';
import { recordPresence } from '@posthorn/core/presence/record-presence.ts';
import type { ArrivalsDeps, ArrivalsScope } from './arrivals-context.ts';
import { isAddress, sanitizeDate } from './sanitize.ts';

/**
 * Presence is reported at most this often, in batches of this size; in a larger batch the oldest updates are
 * dropped.
 */
const EVERY_MS = 1_000;
const AT_ONCE_MAX = 50;

const STATES: ReadonlySet<unknown> = new Set([
  'available',
  'unavailable',
  'composing',
  'recording',
  'paused',
]);

/**
 * Reports presence as events. Nothing waits for it and nothing is repeated: if someone changes faster than
 * the interval, the newest state counts, and a flood costs this instance one statement a second.
 */
export function createPresenceTeller(
  deps: ArrivalsDeps,
  scope: ArrivalsScope,
): (updates: readonly PresenceUpdate[]) => void {
  const waiting = new Map<string, PresenceUpdate>();
  let timer: NodeJS.Timeout | undefined;
  let toldAtMs = Number.NEGATIVE_INFINITY;

  function schedule(): void {
    const delayMs = Math.max(0, toldAtMs + EVERY_MS - performance.now());
    timer ??= setTimeout(() => void tell(), delayMs);
    timer.unref();
  }

  async function tell(): Promise<void> {
    const updates = [...waiting.values()];
    waiting.clear();
    toldAtMs = performance.now();
    try {
      await recordPresence(deps, scope, updates);
    } catch (err) {
      deps.log.debug({ err, instance_id: scope.instanceId }, 'recording presence failed');
    }
    timer = undefined;
    if (waiting.size > 0) schedule();
  }

  return (updates) => {
    const now = deps.clock.now();
    for (const update of updates.slice(-AT_ONCE_MAX)) {
      const sanitized = sanitize(update, now);
      if (!sanitized) continue;
      const key = `${sanitized.jid} ${sanitized.chat}`;
      waiting.delete(key);
      waiting.set(key, sanitized);
      const [oldest] = waiting.keys();
      if (waiting.size > AT_ONCE_MAX && oldest !== undefined) waiting.delete(oldest);
    }
    if (waiting.size > 0) schedule();
  };
}

function sanitize({ jid, chat, state, lastSeen, at }: PresenceUpdate, now: Date): PresenceUpdate | null {
  if (!isAddress(jid) || (chat !== null && !isAddress(chat)) || !STATES.has(state)) return null;
  return { jid, chat, state, lastSeen: lastSeen && sanitizeDate(lastSeen, now), at: sanitizeDate(at, now) };
}
