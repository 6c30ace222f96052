import type { Phone, Session } from '../state/model.ts';
import type { World } from '../state/world.ts';

/** Answers one question of a driver. Arguments that do not parse are refused with `invalid_arguments`. */
export type Call = (world: World, session: Session, args: unknown) => unknown;

/** Says no to a call; the driver throws it as `SendRefused` with this reason. */
export class CallRefused extends Error {}

/** The phone whose account asks. Refuses a session that is not paired. */
export function callerOf({ account }: Session): Phone {
  if (!account) throw new CallRefused('not_paired');
  return account.phone;
}
