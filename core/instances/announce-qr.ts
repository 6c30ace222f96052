import { buildEvent } from '../events/build-event.ts';
import { type RecorderDeps, recordUnderLease } from './create-recorder.ts';
import type { Lease } from './lock-leases.ts';
import { showQr } from './pairing.ts';

/** Shows a new QR and tells it by the event instance.qr_updated, together. Throws LeaseLost. */
export async function announceQr(
  deps: RecorderDeps,
  instance: { id: string; companyId: number; lease: Lease },
  qr: string,
  expiresAt: Date,
): Promise<void> {
  const { id: instanceId, companyId, lease } = instance;
  await recordUnderLease(deps, lease, async ({ client, now, tell }) => {
    await showQr(client, instanceId, qr, expiresAt);
    const data = { qr, expires_at: expiresAt.toISOString(), timestamp: now.toISOString() };
    await tell([buildEvent({ companyId, instanceId }, { type: 'instance.qr_updated', data, now })]);
  });
  deps.bus.notify('instance', instanceId);
}
