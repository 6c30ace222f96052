import type { RotatedSecret } from '@posthorn/contract/messaging/webhooks.ts';
import { reachOf } from '../access/company-scope.ts';
import { lockPrincipal } from '../access/lock-principal.ts';
import type { Principal } from '../access/principal.ts';
import type { Bus } from '../platform/broker/bus.ts';
import type { Db } from '../platform/database/db.ts';
import type { Orm } from '../platform/database/orm.ts';
import { DAY_MS } from '../platform/durations.ts';
import type { Cipher } from '../platform/encryption.ts';
import type { Clock } from '../platform/process/clock.ts';
import { newSecret } from './create-webhook.ts';
import { rotatedSecrets, type SecretColumns } from './earlier-secrets.ts';
import { loadWebhook } from './find-webhook.ts';
import { webhookNotification } from './notifications.ts';

const GRACE_MS = DAY_MS;
/** Each one that signs makes every delivery's header longer. */
const SIGNING_MAX = 5;

/**
 * Gives a webhook a new secret. For 24 hours the one before signs as well, and older ones until their own grace
 * ends; the oldest of more than five ends at once. 404 WEBHOOK_NOT_FOUND, and as {@link lockPrincipal}.
 */
export async function rotateSecret(
  deps: { orm: Orm; db: Db; bus: Bus; cipher: Cipher; clock: Clock },
  input: { principal: Principal; webhookId: number },
): Promise<RotatedSecret> {
  const { id } = await loadWebhook(reachOf(deps.orm, input.principal), input.webhookId);
  const now = deps.clock.now();
  const expiresAt = new Date(now.getTime() + GRACE_MS);
  const secret = newSecret();
  await deps.db.transaction(async (sql) => {
    // Anybody who has the secret can sign as the webhook does.
    await lockPrincipal(sql, input.principal);
    // Locked: the later of two simultaneous rotations keeps the secret of the earlier one.
    const { rows } = await sql.query<SecretColumns>(
      `SELECT secret, previous_secret, previous_secret_expires_at, earlier_secrets FROM webhooks
       WHERE id = $1 FOR NO KEY UPDATE`,
      [id],
    );
    const earlier = rows
      .flatMap((row) => rotatedSecrets(deps.cipher, row))
      .filter(({ until }) => new Date(until) > now)
      .slice(0, SIGNING_MAX - 2);
    await sql.query(
      `UPDATE webhooks SET earlier_secrets = $5, previous_secret = secret, previous_secret_expires_at = $2,
         secret = $3, updated_at = $4
       WHERE id = $1`,
      [id, expiresAt, deps.cipher.seal(secret), now, earlier.length > 0 ? deps.cipher.seal(earlier) : null],
    );
  });
  // Workers would sign the deliveries that they hold with the old secret alone, and a receiver may change over at once.
  deps.bus.notify('deliveries', webhookNotification(id));
  return { secret, previous_secret_expires_at: expiresAt.toISOString() };
}
