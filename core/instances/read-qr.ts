import { apiError } from '@posthorn/contract/api-error.ts';
import { holdRefusal, readHold } from '../access/company-hold.ts';
import { reachOf } from '../access/company-scope.ts';
import type { Principal } from '../access/principal.ts';
import { type NotificationWaits, waitUntilFound } from '../platform/broker/notification-waits.ts';
import type { Orm } from '../platform/database/orm.ts';
import type { Clock } from '../platform/process/clock.ts';
import { InstancePairingSchema } from './entities.ts';
import { loadInstance } from './find-instance.ts';

/** How long a request waits for a code that the network is about to give. */
const WAIT_MS = 5_000;

/**
 * The text of the QR code to pair with. 409 INVALID_INSTANCE_TRANSITION when no pairing is under way
 * (connect first, or it is paired already); 403 COMPANY_SUSPENDED as connecting; 503 with Retry-After while the
 * network has given none.
 */
export async function readQr(
  deps: { orm: Orm; clock: Clock; notifications: NotificationWaits },
  input: { principal: Principal; instanceId: string; signal: AbortSignal },
): Promise<{ qr: string; expiresAt: Date }> {
  const wait = { payload: input.instanceId, timeoutMs: WAIT_MS, signal: input.signal };
  const found = await waitUntilFound(deps.notifications, wait, async () => {
    const em = reachOf(deps.orm, input.principal);
    const instance = await loadInstance(em, input.instanceId);
    const held = holdRefusal(await readHold(em, instance.id));
    if (held) throw held;
    if (instance.desired !== 'connected' || !PAIRS.has(instance.state) || instance.phone)
      throw apiError('INVALID_INSTANCE_TRANSITION', { message: 'no pairing is under way' });
    // Before the worker records PAIRING, a stored QR is that of a session which has ended.
    if (instance.state !== 'PAIRING') return null;
    const pairing = await em.findOne(InstancePairingSchema, { instanceId: instance.id });
    const { qr, qrExpiresAt } = pairing ?? {};
    return qr && qrExpiresAt && qrExpiresAt > deps.clock.now() ? { qr, expiresAt: qrExpiresAt } : null;
  });
  if (!found)
    throw apiError('SERVICE_UNAVAILABLE', {
      message: 'the network has not given a QR code yet',
      headers: { 'retry-after': '2' },
    });
  return found;
}

/** In CREATED and DISCONNECTED the worker is about to begin. */
const PAIRS: ReadonlySet<string> = new Set(['CREATED', 'PAIRING', 'DISCONNECTED']);
