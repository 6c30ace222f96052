import { createInbox } from '@posthorn/core/instances/keep-inbox.ts';
import { createSessionKeys } from '@posthorn/core/instances/keep-session-keys.ts';
import { endPairing } from '@posthorn/core/instances/pairing.ts';
import type { NetworkInbox, SessionKeys } from '@posthorn/core/network/driver.ts';
import { recordTransition } from './record-transition.ts';
import type { SessionContext } from './session-context.ts';
import { planForgetting } from './session-decisions.ts';

/** The session keys stored for the instance. */
export function keysOf({ deps, row, lease }: SessionContext): SessionKeys {
  return createSessionKeys(deps, { companyId: row.companyId, instanceId: row.id, lease });
}

/** The stored posts of the network for the instance. */
export function inboxOf({ deps, row, lease, inboxListeners }: SessionContext): NetworkInbox {
  const onArrival = (look: () => void) => {
    inboxListeners.add(look);
    return () => void inboxListeners.delete(look);
  };
  return { ...createInbox(deps.db, { instanceId: row.id, lease }), onArrival };
}

/** Removes the data of an ended pairing and notifies users once. `isAsked`: a user ended it, and not the network. */
export async function forgetPairing(held: SessionContext, by: { isAsked: boolean }): Promise<void> {
  await endPairing(held.deps.db, { id: held.row.id, lease: held.lease });
  await keysOf(held).clear();
  const transition = planForgetting(held.row, by);
  if (!transition) return;
  await recordTransition(held, { ...transition, generation: held.triedGeneration });
  // Also of an instance that was deleted meanwhile.
  held.row = { ...held.row, state: 'DISCONNECTED', credentials: null };
}
