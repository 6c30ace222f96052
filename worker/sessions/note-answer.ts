import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Arrivals } from './arrivals.ts';
import type { PresenceWatch } from './keep-watching.ts';

/** The network's answer to an API request. */
export interface NetworkAnswer {
  op: string;
  args: Record<string, unknown>;
  value: unknown;
}

/**
 * Stores the effects of an answer on anyone other than the caller: a phone returned for an anonymous id is
 * recorded in order with the arrivals, and a subscription is renewed after a lost connection. Rejects if
 * recording fails.
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
