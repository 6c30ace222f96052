import type { StatusViews } from '@posthorn/contract/messaging/status.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import { readPhones } from '../lids/read-phones.ts';
import type { Db } from '../platform/database/db.ts';
import { findStatusKey } from './find-status.ts';

/** Lists the viewers of a status, one row a contact; empty for an unknown status (STA-9). */
export async function listStatusViews(
  deps: { db: Db },
  input: { principal: Principal; instanceId: string; statusId: string },
): Promise<StatusViews> {
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  const key = await findStatusKey(deps.db, instanceId, input.statusId);
  const found = await deps.db.query<{ viewer_jid: string; receipt_type: 'read' | 'played'; viewed_at: Date }>(
    `SELECT viewer_jid, receipt_type, viewed_at FROM status_views
     WHERE instance_id = $1 AND status_id = $2 ORDER BY viewed_at, viewer_jid`,
    [instanceId, key],
  );
  const phoneOf = await readPhones(
    deps.db,
    found.rows.map((row) => ({ instanceId, jid: row.viewer_jid })),
  );
  const viewers = onePerPhone(
    found.rows.map((row) => ({
      phone: phoneOf({ instanceId, jid: row.viewer_jid }),
      jid: row.viewer_jid,
      receipt_type: row.receipt_type,
      viewed_at: row.viewed_at.toISOString(),
    })),
  );
  return { status_message_id: key, count: viewers.length, viewers };
}

type Viewer = StatusViews['viewers'][number];

/** One viewer for each person, also for who viewed it under an anonymous id and under a number; played in one is played. */
function onePerPhone(viewers: readonly Viewer[]): Viewer[] {
  const byPerson = new Map<string, Viewer>();
  for (const viewer of viewers) {
    const person = viewer.phone || viewer.jid;
    const known = byPerson.get(person);
    if (!known) byPerson.set(person, viewer);
    else if (viewer.receipt_type === 'played') byPerson.set(person, { ...known, receipt_type: 'played' });
  }
  return [...byPerson.values()];
}
