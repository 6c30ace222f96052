import { reachOf } from '../access/company-scope.ts';
import type { Principal } from '../access/principal.ts';
import { type TellEvents, tellEvents } from '../events/tell-events.ts';
import type { Bus } from '../platform/broker/bus.ts';
import { type NotificationWaits, waitUntilFound } from '../platform/broker/notification-waits.ts';
import type { Db, Sql } from '../platform/database/db.ts';
import type { Orm } from '../platform/database/orm.ts';
import type { Clock } from '../platform/process/clock.ts';
import { withTimeout } from '../platform/process/with-timeout.ts';
import { webhookNotification } from '../webhooks/notifications.ts';
import { removeRemains } from './device-state.ts';
import { loadInstance } from './find-instance.ts';

/** Most instances are gone by then; what is left of a large one goes after the answer. */
const REMAINS_WAIT_MS = 5_000;
/** How long the network gets to take the logout; then the instance goes without. */
const LOGOUT_WAIT_MS = 3_000;

export interface DeleteInstanceDeps {
  orm: Orm;
  db: Db;
  bus: Bus;
  notifications: NotificationWaits;
  clock: Clock;
  /** Fails the first of the tasks that wait; whether more may wait. `failWaiting` of `core/messages/`, which stands above. */
  failWaiting(
    sql: Sql,
    tell: TellEvents,
    failing: { instanceId: string; reason: string; now: Date },
  ): Promise<boolean>;
}

/**
 * Deletes an instance with its pairing and its own webhooks; its waiting messages fail. A paired one is
 * logged out of the network first, as far as its worker can in a few seconds.
 */
export async function deleteInstance(
  deps: DeleteInstanceDeps,
  input: { principal: Principal; instanceId: string; signal: AbortSignal },
): Promise<void> {
  const { id } = await loadInstance(reachOf(deps.orm, input.principal), input.instanceId);
  await logOut(deps, id, input.signal);
  // A long queue is failed before, in short transactions.
  while (await inTelling(deps, (client, tell) => failFirst(deps, client, tell, id)));
  const { webhookIds } = await inTelling(deps, async (client, tell) => {
    const webhooks = await client.query<{ id: number }>('SELECT id FROM webhooks WHERE instance_id = $1', [
      id,
    ]);
    // First the row itself: an accept that holds its lock ends before, and none begins after, so the
    // statements below see every row there will ever be.
    await client.query('DELETE FROM instances WHERE id = $1', [id]);
    while (await failFirst(deps, client, tell, id));
    await client.query('DELETE FROM scheduled_sends WHERE instance_id = $1 AND finished_at IS NULL', [id]);
    await client.query('DELETE FROM usage_minutes WHERE instance_id = $1', [id]);
    return { webhookIds: webhooks.rows.map((webhook) => webhook.id) };
  });
  deps.bus.notify('instance', id);
  // Workers send nothing more of the deliveries that they hold for them.
  for (const webhookId of webhookIds) deps.bus.notify('deliveries', webhookNotification(webhookId));
  // Not in that transaction, since it may be millions of rows. The retention job removes what is left here.
  const removed = removeRemains(deps.db, id).catch(() => undefined);
  await withTimeout(removed, REMAINS_WAIT_MS, () => undefined);
}

function inTelling<T>(
  deps: DeleteInstanceDeps,
  work: (client: Sql, tell: TellEvents) => Promise<T>,
): Promise<T> {
  return tellEvents(deps, (tell) => deps.db.transaction((client) => work(client, tell)));
}

function failFirst(
  deps: DeleteInstanceDeps,
  client: Sql,
  tell: TellEvents,
  instanceId: string,
): Promise<boolean> {
  return deps.failWaiting(client, tell, { instanceId, reason: 'instance_deleted', now: deps.clock.now() });
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
