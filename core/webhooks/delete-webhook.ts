import { reachOf } from '../access/company-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Bus } from '../platform/broker/bus.ts';
import type { Db } from '../platform/database/db.ts';
import type { Orm } from '../platform/database/orm.ts';
import { loadWebhook } from './find-webhook.ts';
import { webhookNotification } from './notifications.ts';

/** Deletes a webhook and what was still to be delivered to it; its logs stay until they age out. */
export async function deleteWebhook(
  deps: { orm: Orm; db: Db; bus: Bus },
  input: { principal: Principal; webhookId: number },
): Promise<void> {
  const { id } = await loadWebhook(reachOf(deps.orm, input.principal), input.webhookId);
  await deps.db.transaction(async (sql) => {
    await sql.query('DELETE FROM webhooks WHERE id = $1', [id]);
    await sql.query(DELETE_DELIVERIES, [id]);
  });
  deps.bus.notify('deliveries', webhookNotification(id));
}

/** Locked by their ids, as where workers record what came of them: of two orders each could wait for the other. */
const DELETE_DELIVERIES = `
DELETE FROM webhook_deliveries WHERE id IN (
  SELECT id FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY id FOR UPDATE
)`;
