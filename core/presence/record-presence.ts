import { buildEvent } from '../events/build-event.ts';
import { type RecorderDeps, recordUnderLease } from '../instances/create-recorder.ts';
import type { Lease, Recorded } from '../instances/lock-leases.ts';
import { readPhones } from '../lids/read-phones.ts';
import type { PresenceUpdate } from '../network/facts.ts';

/** Tells presence.updated of each. Throws LeaseLost. */
export async function recordPresence(
  deps: RecorderDeps,
  scope: { companyId: number; instanceId: string; lease: Lease },
  updates: readonly PresenceUpdate[],
): Promise<Recorded> {
  const { instanceId } = scope;
  await recordUnderLease(deps, scope.lease, async ({ client, now, tell }) => {
    const phoneOf = await readPhones(
      client,
      updates.map(({ jid }) => ({ instanceId, jid })),
    );
    await tell(
      updates.map(({ jid, chat, state, lastSeen, at }) => {
        const phone = phoneOf({ instanceId, jid });
        const last_seen = lastSeen?.toISOString() ?? null;
        const data = { jid, phone, chat, state, last_seen, timestamp: at.toISOString() };
        return buildEvent(scope, { type: 'presence.updated', data, now });
      }),
    );
  });
  return 'recorded';
}
