import type { Phone, Session } from '../state/model.ts';
import type { World } from '../state/world.ts';

/** Answers one call of a driver. Arguments that do not parse are refused with `invalid_arguments`. */
export type Call = (world: World, session: Session, args: unknown) => unknown;

/** Refuses a call; the driver throws it as `SendRefused` with this reason. */
export class CallRefused extends Error {}

/** The phone of the calling account. Refuses a session that is not paired. */
export function callerOf({ account }: Session): Phone {
  if (!account) throw new CallRefused('not_paired');
  return account.phone;
}
