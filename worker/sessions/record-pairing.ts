import { beginDeviceSync, formerAccount } from '@posthorn/core/instances/device-state.ts';
import { endPairing } from '@posthorn/core/instances/pairing.ts';
import { ACCOUNT_CHANGED } from '@posthorn/core/messages/progress.ts';
import { type PairedIdentity, SendUnavailable } from '@posthorn/core/network/driver.ts';
import { cancelTasks } from '../dispatch/cancel-tasks.ts';
import { recordTransition } from './record-transition.ts';
import type { SessionContext } from './session-context.ts';

/**
 * Stores the credentials and identity before the network takes the pairing as done. Throws if that fails, or if the session was
 * closed while this waited: a user who logged out must not find the instance paired.
 */
export async function onPaired(
  held: SessionContext,
  identity: PairedIdentity,
  isCurrent: () => boolean,
): Promise<void> {
  if (!isCurrent()) throw new SendUnavailable('the session has ended');
  const { deps, lease } = held;
  const credentials = deps.cipher.seal(identity.credentials);
  await endPairing(deps.db, { id: held.row.id, lease });
  const former = await formerAccount(deps.db, held.row.id);
  if (former !== null && former !== identity.jid) await failSendsOfOthers(held, {});
  await beginDeviceSync(deps.db, { id: held.row.id, lease }, identity.jid, deps.clock.now());
  const outcome = await recordTransition(held, {
    to: 'CONNECTED',
    reason: 'paired',
    fields: { credentials, phone: identity.phone, jid: identity.jid, push_name: identity.pushName },
  });
  // The network must not take the pairing as done, because the credentials are stored nowhere.
  if (outcome !== 'moved') throw new Error(`a ${held.row.state} instance was paired: ${outcome}`);
  held.row = { ...held.row, credentials };
}

/**
 * Sends that were accepted for another account fail: they must not go out from this one (SND-54). `before`: the `seq` in
 * the outbox of the first send that was accepted for this account; without it none was yet.
 */
export async function failSendsOfOthers(
  { deps, row, lease, queue }: SessionContext,
  which: { before?: number },
): Promise<void> {
  await cancelTasks(deps, { id: row.id, lease, queue }, which, ACCOUNT_CHANGED);
}
