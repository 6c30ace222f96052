import { randomBytes } from 'node:crypto';
import { apiError } from '@posthorn/contract/api-error.ts';
import { jidOfPhone } from '@posthorn/contract/jid.ts';
import type { Instance as InstanceView } from '@posthorn/contract/messaging/instances.ts';
import { holdRefusal, readHold } from '../access/company-hold.ts';
import { reachOf } from '../access/company-scope.ts';
import { lockPrincipal } from '../access/lock-principal.ts';
import type { Principal } from '../access/principal.ts';
import { loadInstance } from '../instances/find-instance.ts';
import { instanceView } from '../instances/instance-view.ts';
import type { GraphAddress } from '../network/graph-api.ts';
import type { Bus } from '../platform/broker/bus.ts';
import type { Orm } from '../platform/database/orm.ts';
import type { Cipher } from '../platform/encryption.ts';
import type { Clock } from '../platform/process/clock.ts';
import { checkCredentials, type GivenCredentials } from './check-credentials.ts';
import { CLOUD_DRIVER, type CloudCredentials } from './credentials.ts';

/**
 * Gives an instance the credentials of its network, once Meta has been asked, and wakes the worker that owns it, which
 * connects it. Throws as {@link checkCredentials}; 501 NOT_IMPLEMENTED for an instance that pairs with a phone, 409
 * INVALID_INSTANCE_TRANSITION for a banned one, 403 COMPANY_SUSPENDED as connecting.
 */
export async function giveCredentials(
  deps: { orm: Orm; bus: Bus; clock: Clock; cipher: Cipher; graph: GraphAddress },
  input: { principal: Principal; instanceId: string; given: GivenCredentials },
): Promise<InstanceView> {
  const { principal, instanceId, given } = input;
  const { driver } = await loadInstance(reachOf(deps.orm, principal), instanceId);
  if (driver !== CLOUD_DRIVER) throw apiError('NOT_IMPLEMENTED');
  const { phone, name } = await checkCredentials(deps.graph, given);
  const sealed: CloudCredentials = {
    phone_number_id: given.phone_number_id,
    business_account_id: given.business_account_id,
    access_token: given.access_token,
    app_secret: given.app_secret,
    verify_token: randomBytes(24).toString('base64url'),
    phone,
  };
  const instance = await reachOf(deps.orm, principal).transactional(async (em) => {
    await lockPrincipal(em, principal);
    const hold = holdRefusal(await readHold(em, instanceId, { lock: true }));
    const row = await loadInstance(em, instanceId, { lock: true });
    if (hold) throw hold;
    if (row.state === 'BANNED')
      throw apiError('INVALID_INSTANCE_TRANSITION', { message: 'the network has banned this instance' });
    // A restriction of the network holds for the former number only.
    if (row.phone !== phone) row.restriction = null;
    row.phone = phone;
    row.jid = jidOfPhone(phone);
    row.pushName = name;
    row.desired = 'connected';
    // A session under the former credentials is closed.
    row.generation += 1;
    row.lastError = null;
    row.updatedAt = deps.clock.now();
    await em.flush();
    // Not mapped: nothing that shows instances can show them.
    await em.execute('UPDATE instances SET credentials = ? WHERE id = ?', [
      deps.cipher.seal(sealed),
      instanceId,
    ]);
    await em.execute(LEAVE_FORMER_ACCOUNT, [instanceId, row.jid]);
    await em.execute(NOTE_ACCOUNT, [row.jid, row.updatedAt, instanceId]);
    return row;
  });
  deps.bus.notify('instance', instanceId);
  return instanceView(instance);
}

/** Marks the sends that were accepted for another number: the owner of the session lets them fail (SND-54). */
const LEAVE_FORMER_ACCOUNT = `
  UPDATE instances SET first_own_seq = nextval(pg_get_serial_sequence('outbox', 'seq'))
  FROM device_syncs former
  WHERE instances.id = ? AND former.instance_id = instances.id AND former.account_jid <> ?`;

const NOTE_ACCOUNT = `
  INSERT INTO device_syncs (instance_id, company_id, account_jid, updated_at)
  SELECT id, company_id, ?, ? FROM instances WHERE id = ?
  ON CONFLICT (instance_id) DO UPDATE SET account_jid = excluded.account_jid, updated_at = excluded.updated_at`;
