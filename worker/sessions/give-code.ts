import { answerPairingCode } from '@posthorn/core/instances/pairing.ts';
import type { NetworkSession } from '@posthorn/core/network/driver.ts';
import type { SessionContext } from './session-context.ts';

/** Requests the pairing code a user waits for, and stores the code or the reason why there is none. */
export async function giveCode(held: SessionContext, session: NetworkSession, phone: string): Promise<void> {
  const { deps, lease } = held;
  held.row = { ...held.row, codePhone: null };
  const answer = await session.requestPairingCode(phone).then(
    (code) => ({ code }),
    (err: Error) => ({ error: err.message }),
  );
  await answerPairingCode(deps.db, { id: held.row.id, lease }, phone, answer);
  deps.bus.notify('instance', held.row.id);
}
