import { insertEvents } from '../events/insert-events.ts';
import type { Bus } from '../platform/bus.ts';
import type { Clock } from '../platform/clock.ts';
import type { Db } from '../platform/db.ts';
import { newId } from '../platform/ids.ts';
import { type Lease, underLease } from './hold-leases.ts';
import { showQr } from './pairing.ts';

/** Shows a new QR and tells it by the event instance.qr_updated, together. Throws LeaseLost. */
export async function announceQr(
  deps: { db: Db; bus: Bus; clock: Clock },
  instance: { id: string; companyId: number; lease: Lease },
  qr: string,
  expiresAt: Date,
): Promise<void> {
  const now = deps.clock.now();
  await underLease(deps.db, instance.lease, async (client) => {
    await showQr(client, instance.id, qr, expiresAt);
    await insertEvents(client, [
      {
        eventId: newId(),
        companyId: instance.companyId,
        instanceId: instance.id,
        type: 'instance.qr_updated',
        data: { qr, expires_at: expiresAt.toISOString(), timestamp: now.toISOString() },
        traceId: null,
        createdAt: now,
      },
    ]);
  });
  deps.bus.notify('instance', instance.id);
  deps.bus.notify('events', String(instance.companyId));
  deps.bus.notify('deliveries');
}
