import type { NewEvent } from '../events/insert-events.ts';
import { type RecorderDeps, recordUnderLease } from '../instances/create-recorder.ts';
import type { Lease, Recorded } from '../instances/lock-leases.ts';
import type { MessageChange } from '../network/messages.ts';
import type { Sql } from '../platform/database/db.ts';
import { hashKey } from '../platform/hashes.ts';
import { messageIdOf } from '../platform/ids.ts';
import {
  applyDelete,
  applyEdit,
  CHANGED_COLUMNS,
  type ChangedMessage,
  changedFamily,
  eventOf,
} from './apply-change.ts';

/**
 * Records changes that came from the network, in their order, each with its events: message.edited,
 * message.deleted with `<family>.deleted`, message.starred (EVT-8). A change of a message that we never
 * had tells nobody anything. Throws LeaseLost.
 */
export async function recordNetworkChanges(
  deps: RecorderDeps,
  scope: { instanceId: string; lease: Lease },
  changes: readonly MessageChange[],
): Promise<Recorded> {
  await recordUnderLease(deps, scope.lease, async ({ client, now, tell }) => {
    const events: NewEvent[] = [];
    for (const change of changes) {
      const eventId = hashKey(scope.instanceId, change.kind, change.networkId, change.at.toISOString());
      // A repeat may stand in the same batch.
      if (events.some((event) => event.eventId === eventId)) continue;
      events.push(...(await recordOnce(client, scope.instanceId, change, eventId, now)));
    }
    await tell(events);
  });
  return 'recorded';
}

/** The network repeats what was not acknowledged: the first event's id is made of what happened. */
async function recordOnce(
  client: Sql,
  instanceId: string,
  change: MessageChange,
  eventId: string,
  now: Date,
): Promise<NewEvent[]> {
  const told = await client.query('SELECT 1 FROM events WHERE event_id = $1', [eventId]);
  if (told.rows.length > 0) return [];
  const [first, ...others] = await record(client, instanceId, change, now);
  return first ? [{ ...first, eventId }, ...others] : [];
}

async function record(
  client: Sql,
  instanceId: string,
  change: MessageChange,
  now: Date,
): Promise<NewEvent[]> {
  const found = await client.query<ChangedMessage>(
    // Phones draw ids of 32 digits as well: only the rows tell whether it was sent from here.
    `SELECT ${CHANGED_COLUMNS} FROM messages WHERE id = (
       SELECT id FROM messages WHERE instance_id = $1 AND id = $2
       UNION ALL
       SELECT id FROM messages WHERE instance_id = $1 AND network_id = $3
       LIMIT 1
     ) FOR UPDATE`,
    [instanceId, messageIdOf(change.networkId), change.networkId],
  );
  const message = found.rows[0];
  if (!message) return [];
  switch (change.kind) {
    case 'edited':
      return applyEdit(client, message, change, now);
    case 'deleted':
      return applyDelete(client, message, change.at, now);
    case 'starred': {
      const data = { ...changedFamily(message, change.at), starred: change.starred };
      return [eventOf(message, 'message.starred', data, now)];
    }
  }
}
