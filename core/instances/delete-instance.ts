import { reachOf } from '../access/company-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Bus } from '../platform/broker/bus.ts';
import { type NotificationWaits, waitUntilFound } from '../platform/broker/notification-waits.ts';
import type { Db } from '../platform/database/db.ts';
import type { Orm } from '../platform/database/orm.ts';
import { webhookNotification } from '../webhooks/notifications.ts';
import { removeDeviceState } from './device-state.ts';
import { loadInstance } from './find-instance.ts';

/** How long the network gets to take the logout; then the instance goes without. */
const LOGOUT_WAIT_MS = 3_000;

/**
 * Deletes an instance with its pairing, its waiting messages and its own webhooks. A paired one is
 * logged out of the network first, as far as its worker can in a few seconds.
 */
export async function deleteInstance(
  deps: { orm: Orm; db: Db; bus: Bus; notifications: NotificationWaits },
  input: { principal: Principal; instanceId: string; signal: AbortSignal },
): Promise<void> {
  const { id } = await loadInstance(reachOf(deps.orm, input.principal), input.instanceId);
  await logOut(deps, id, input.signal);
  const { webhookIds } = await deps.db.transaction(async (client) => {
    const webhooks = await client.query<{ id: number }>('SELECT id FROM webhooks WHERE instance_id = $1', [
      id,
    ]);
    // First the row itself: an accept that holds its lock ends before, and none begins after, so the
    // statements below see every row there will ever be.
    await client.query('DELETE FROM instances WHERE id = $1', [id]);
    await client.query('DELETE FROM outbox WHERE instance_id = $1', [id]);
    await client.query('DELETE FROM scheduled_sends WHERE instance_id = $1', [id]);
    await client.query('DELETE FROM chat_guards WHERE instance_id = $1', [id]);
    await client.query('DELETE FROM usage_minutes WHERE instance_id = $1', [id]);
    await removeDeviceState(client, id);
    await client.query('DELETE FROM chat_groups WHERE instance_id = $1', [id]);
    await client.query('DELETE FROM lids WHERE instance_id = $1', [id]);
    await client.query('DELETE FROM network_inbox WHERE instance_id = $1', [id]);
    await client.query('DELETE FROM session_keys WHERE instance_id = $1', [id]);
    return { webhookIds: webhooks.rows.map((webhook) => webhook.id) };
  });
  deps.bus.notify('instance', id);
  // Workers send nothing more of the deliveries that they hold for them.
  for (const webhookId of webhookIds) deps.bus.notify('deliveries', webhookNotification(webhookId));
}

async function logOut(
  deps: { db: Db; bus: Bus; notifications: NotificationWaits },
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const asked = await deps.db.query(
    `UPDATE instances SET wanted = 'logged_out', updated_at = now() WHERE id = $1 AND credentials IS NOT NULL`,
    [id],
  );
  if (asked.rowCount === 0) return;
  deps.bus.notify('instance', id);
  await waitUntilFound(deps.notifications, { payload: id, timeoutMs: LOGOUT_WAIT_MS, signal }, async () => {
    const left = await deps.db.query('SELECT 1 FROM instances WHERE id = $1 AND credentials IS NOT NULL', [
      id,
    ]);
    return left.rowCount === 0 ? true : null;
  });
}
