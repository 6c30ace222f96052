import { createHmac, timingSafeEqual } from 'node:crypto';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { Bus } from '../platform/broker/bus.ts';
import { isUnavailable } from '../platform/database/database-errors.ts';
import type { Db } from '../platform/database/db.ts';
import type { Cipher } from '../platform/encryption.ts';
import type { Clock } from '../platform/process/clock.ts';
import { readCredentials } from './credentials.ts';
import type { InboxRoom } from './inbox-room.ts';

/**
 * Stores what Meta posted, as its bytes, and wakes the owner of the instance; when this resolves it is durable. 401
 * UNAUTHORIZED for a wrong signature, 404 INSTANCE_NOT_FOUND without credentials to check it by; 503 when it could not be
 * stored, or too much waits for the instance. Meta posts all of these again.
 */
export async function takeWebhook(
  deps: { db: Db; bus: Bus; clock: Clock; cipher: Cipher; room: InboxRoom },
  posted: { instanceId: string; signature: string | string[] | undefined; read(): Promise<Buffer> },
): Promise<void> {
  const { instanceId, signature } = posted;
  try {
    const known = await readCredentials(deps, instanceId);
    if (!known) throw apiError('INSTANCE_NOT_FOUND');
    const claimed = digestOf(signature);
    if (!claimed) throw apiError('UNAUTHORIZED');
    // Read only for an instance with credentials and a well-formed signature: 3 MB are more than strangers may send.
    const body = await posted.read();
    const digest = createHmac('sha256', known.credentials.app_secret).update(body).digest();
    if (!timingSafeEqual(digest, claimed)) throw apiError('UNAUTHORIZED');
    const { rowCount } = await deps.room.keep(instanceId, body.length, () =>
      deps.db.query({
        name: 'network-inbox-insert-known',
        text: INSERT,
        values: [instanceId, body, deps.clock.now()],
      }),
    );
    if (rowCount === 0) throw apiError('INSTANCE_NOT_FOUND');
  } catch (cause) {
    if (isUnavailable(cause))
      throw apiError('SERVICE_UNAVAILABLE', { cause, headers: { 'retry-after': '2' } });
    throw cause;
  }
  deps.bus.notify('inbox', instanceId);
}

/** The instance may have been deleted while the body came in. It is not locked: that would write its row with every post. */
const INSERT = `INSERT INTO network_inbox (instance_id, company_id, body, received_at)
  SELECT id, company_id, $2, $3 FROM instances WHERE id = $1`;

/**
 * The digest that the header claims for the raw bytes. It does not fit JSON that was parsed and written again, which
 * loses Meta's escapes.
 */
function digestOf(signature: string | string[] | undefined): Buffer | null {
  const hex = typeof signature === 'string' ? /^sha256=([0-9a-f]{64})$/i.exec(signature)?.[1] : undefined;
  return hex === undefined ? null : Buffer.from(hex, 'hex');
}
