import { apiError } from '@posthorn/contract/api-error.ts';
import { jidOfPhone, phoneOf } from '@posthorn/contract/jid.ts';
import { SYNC_ACTION_TIMEOUT_MS } from '@posthorn/contract/limits.ts';
import { holdRefusal, readHold } from '../access/company-hold.ts';
import { reachOf } from '../access/company-scope.ts';
import { lockPrincipal } from '../access/lock-principal.ts';
import type { Principal } from '../access/principal.ts';
import type { Bus } from '../platform/broker/bus.ts';
import { type NotificationWaits, waitUntilFound } from '../platform/broker/notification-waits.ts';
import type { Db } from '../platform/database/db.ts';
import type { Orm } from '../platform/database/orm.ts';
import type { Clock } from '../platform/process/clock.ts';
import { requireAbility } from './driver-abilities.ts';
import { InstancePairingSchema } from './entities.ts';
import { loadInstance } from './find-instance.ts';

/** The networks do not say how long a code holds; none keeps it for less than this. */
const CODE_LIFETIME_MS = 60_000;

/**
 * Asks the worker that owns the instance for a code to type on `phone`, and waits for it. Connects an
 * instance that is not. 409 INVALID_INSTANCE_TRANSITION when it is paired or restricted; 403 COMPANY_SUSPENDED
 * as connecting; 501
 * NOT_IMPLEMENTED on a network without such codes; 503 with Retry-After when no code came in time.
 */
export async function requestPairingCode(
  deps: { orm: Orm; db: Db; bus: Bus; clock: Clock; notifications: NotificationWaits },
  input: { principal: Principal; instanceId: string; phone: string; signal: AbortSignal },
): Promise<{ code: string; phone: string; expiresAt: Date }> {
  const phone = phoneOf(jidOfPhone(input.phone));
  const requestedAt = deps.clock.now();
  await writeRequest(deps, { ...input, phone, requestedAt });
  deps.bus.notify('instance', input.instanceId);
  const wait = { payload: input.instanceId, timeoutMs: SYNC_ACTION_TIMEOUT_MS, signal: input.signal };
  const answer = await waitUntilFound(deps.notifications, wait, async () => {
    const pairing = await reachOf(deps.orm, input.principal).findOne(InstancePairingSchema, {
      instanceId: input.instanceId,
      codePhone: phone,
    });
    if (!pairing) return null;
    return pairing.code || pairing.codeError ? { code: pairing.code, error: pairing.codeError } : null;
  });
  if (!answer?.code)
    throw apiError('SERVICE_UNAVAILABLE', {
      message: 'the network did not issue a pairing code',
      headers: { 'retry-after': '5' },
      cause: answer?.error ?? 'no answer in time',
    });
  return { code: answer.code, phone, expiresAt: new Date(requestedAt.getTime() + CODE_LIFETIME_MS) };
}

/** The phone is the request: the owner answers it in the same row (pairing.ts). */
async function writeRequest(
  deps: { orm: Orm; db: Db; clock: Clock },
  input: { principal: Principal; instanceId: string; phone: string; requestedAt: Date },
): Promise<void> {
  await reachOf(deps.orm, input.principal).transactional(async (em) => {
    await lockPrincipal(em, input.principal);
    const hold = await readHold(em, input.instanceId, { lock: true });
    const instance = await loadInstance(em, input.instanceId, { lock: true });
    const held = holdRefusal(hold);
    if (held) throw held;
    await requireAbility(deps.db, instance.driver, 'pairing_code');
    if (!['CREATED', 'PAIRING', 'DISCONNECTED'].includes(instance.state) || instance.phone)
      throw apiError('INVALID_INSTANCE_TRANSITION', { message: 'the instance cannot be paired now' });
    const hasFailed = instance.lastError !== null;
    if (instance.desired !== 'connected' || hasFailed) {
      instance.desired = 'connected';
      // The next try may be an hour away: this asks for one now, as to connect does.
      if (hasFailed) instance.generation += 1;
      instance.lastError = null;
      instance.updatedAt = input.requestedAt;
    }
    const request = { codePhone: input.phone, code: null, codeError: null };
    const pairing = await em.findOne(InstancePairingSchema, { instanceId: instance.id });
    if (pairing) em.assign(pairing, request);
    else
      em.persist(
        em.create(InstancePairingSchema, {
          instanceId: instance.id,
          companyId: instance.companyId,
          ...request,
        }),
      );
    await em.flush();
    // By the database's clock, which the owner compares it with.
    await em.execute('UPDATE instance_pairings SET code_requested_at = now() WHERE instance_id = ?', [
      instance.id,
    ]);
  });
}
