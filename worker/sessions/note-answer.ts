import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Arrivals } from './arrivals.ts';
import type { PresenceWatch } from './keep-watching.ts';

/** What the network answered to a question of the API. */
export interface NetworkAnswer {
  op: string;
  args: Record<string, unknown>;
  value: unknown;
}

/**
 * Keeps what an answer means for others than who asked: a phone that was told of an anonymous id is recorded in order with
 * what arrives, and a subscription is renewed when the connection was lost. Rejects when it could not be recorded.
 */
export async function noteAnswer(
  held: { arrivals: Arrivals; watch: PresenceWatch; clock: Clock },
  { op, args, value }: NetworkAnswer,
): Promise<void> {
  if (op === 'presence_subscribe') held.watch.add(String(args.jid));
  if (op !== 'lid_phone') return;
  const { phone } = (value ?? {}) as { phone?: unknown };
  if (typeof phone !== 'string') return;
  await held.arrivals.facts([{ kind: 'lid', lid: String(args.lid), phone, at: held.clock.now() }]);
}
