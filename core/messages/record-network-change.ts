import { isGroupJid } from '@posthorn/contract/jid.ts';
import type { NewEvent } from '../events/insert-events.ts';
import { type RecorderDeps, recordUnderLease } from '../instances/create-recorder.ts';
import type { Lease, Recorded } from '../instances/lock-leases.ts';
import { knownJid, readPhones } from '../lids/read-phones.ts';
import type { NetworkChange } from '../network/messages.ts';
import type { Sql } from '../platform/database/db.ts';
import { hashKey } from '../platform/hashes.ts';
import { idInChat, messageIdOf } from '../platform/ids.ts';
import {
  applyDelete,
  applyEdit,
  CHANGED_COLUMNS,
  type ChangedMessage,
  changedFamily,
  eventOf,
} from './apply-change.ts';

/**
 * Records changes that came from the network, in their order, each with its events: message.edited, message.deleted
 * with `<family>.deleted`, message.starred (EVT-8). A change of a message that we never had makes no event, and is
 * given to `onUnknown`. Throws LeaseLost.
 */
export async function recordNetworkChanges(
  deps: RecorderDeps,
  { instanceId, lease }: { instanceId: string; lease: Lease },
  changes: readonly NetworkChange[],
  onUnknown: (change: NetworkChange) => void = () => undefined,
): Promise<Recorded> {
  await recordUnderLease(deps, lease, async ({ client, now, tell }) => {
    const events: NewEvent[] = [];
    const book = await readPhones(
      client,
      changes.map(({ chat }) => ({ instanceId, jid: chat })),
    );
    const known = changes.map((change) => ({
      ...change,
      chat: knownJid(book, { instanceId, jid: change.chat }),
    }));
    if (known.length > 1) await lockAll(client, instanceId, known);
    for (const change of known) {
      const eventId = idOf(instanceId, change);
      // The same batch may contain a repeat.
      if (events.some((event) => event.eventId === eventId)) continue;
      const told = await recordOnce(client, instanceId, change, eventId, now);
      if (told) events.push(...told);
      else onUnknown(change);
    }
    await tell(events);
  });
  return 'recorded';
}

/** Networks that tell times in seconds name each change: a message may be edited twice within one. */
function idOf(instanceId: string, change: NetworkChange): string {
  const { kind, networkId, changeId, at } = change;
  return hashKey(instanceId, kind, networkId, changeId ?? at.toISOString());
}

/**
 * Null: there is no such message. The network repeats what was not acknowledged: the first event's id is made of what
 * happened.
 */
async function recordOnce(
  client: Sql,
  instanceId: string,
  change: NetworkChange,
  eventId: string,
  now: Date,
): Promise<NewEvent[] | null> {
  const told = await client.query('SELECT 1 FROM events WHERE event_id = $1', [eventId]);
  if (told.rows.length > 0) return [];
  const message = await lockChanged(client, instanceId, change);
  if (!message) return null;
  const [first, ...others] = await record(client, message, change, now);
  return first ? [{ ...first, eventId }, ...others] : [];
}

/** The messages that changes may be about: phones draw ids of 32 digits as well, so only the rows tell whether we sent it. */
const NAMED = `id = ANY (ARRAY(
  SELECT id FROM messages WHERE instance_id = $1 AND id = ANY ($2::uuid[])
  UNION ALL
  SELECT id FROM messages WHERE instance_id = $1 AND network_id = ANY ($3::text[])
))`;

function namesOf(instanceId: string, changes: readonly NetworkChange[]): unknown[] {
  const networkIds = changes.flatMap(({ networkId, chat }) => [networkId, idInChat(networkId, chat)]);
  return [instanceId, changes.map(({ networkId }) => messageIdOf(networkId)), networkIds];
}

/** Several in the order of their ids, as receipts lock them: in another order each could wait for the other. */
async function lockAll(sql: Sql, instanceId: string, changes: readonly NetworkChange[]): Promise<void> {
  await sql.query(
    `SELECT 1 FROM messages WHERE ${NAMED} ORDER BY id FOR UPDATE`,
    namesOf(instanceId, changes),
  );
}

/**
 * Finds and locks the message that a change is about. The id alone does not tell which one it is: anybody who has seen
 * an id can give it to a message of their own in another chat, and change that one. Only its author may edit a message;
 * in a group, admins may delete the messages of others.
 */
async function lockChanged(
  client: Sql,
  instanceId: string,
  change: NetworkChange,
): Promise<ChangedMessage | undefined> {
  const { chat, kind, fromMe } = change;
  const found = await client.query<ChangedMessage>(
    `SELECT ${CHANGED_COLUMNS} FROM messages WHERE ${NAMED} ORDER BY id FOR UPDATE`,
    namesOf(instanceId, [change]),
  );
  const inChat = found.rows.filter((row) => row.chat_jid === chat);
  const ofAuthor = inChat.find(({ direction }) => (direction === 'outbound') === (fromMe === true));
  const mayBeOfOthers = kind === 'starred' || (kind === 'deleted' && isGroupJid(chat));
  return ofAuthor ?? (mayBeOfOthers ? inChat[0] : undefined);
}

async function record(
  client: Sql,
  message: ChangedMessage,
  change: NetworkChange,
  now: Date,
): Promise<NewEvent[]> {
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
