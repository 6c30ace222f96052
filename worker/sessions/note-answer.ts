import type { NetworkActions } from '@posthorn/core/network/actions.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Arrivals } from './arrivals.ts';
import type { PresenceWatch } from './keep-watching.ts';

/** The network's answer to a question of the API. */
export type NetworkAnswer = {
  [Op in keyof NetworkActions]: { op: Op; args: NetworkActions[Op]['args']; value: unknown };
}[keyof NetworkActions];

/**
 * Stores the effects of an answer on anyone other than the caller: a phone returned for an anonymous id is
 * recorded in order with the arrivals, and a subscription is renewed after a lost connection. Rejects if
 * recording fails.
 */
export async function noteAnswer(
  held: { arrivals: Arrivals; watch: PresenceWatch; clock: Clock },
  answer: NetworkAnswer,
): Promise<void> {
  if (answer.op === 'presence_subscribe') held.watch.add(answer.args.jid);
  if (answer.op !== 'lid_phone') return;
  const { phone } = (answer.value ?? {}) as { phone?: unknown };
  if (typeof phone !== 'string') return;
  await held.arrivals.facts([{ kind: 'lid', lid: answer.args.lid, phone, at: held.clock.now() }]);
}
