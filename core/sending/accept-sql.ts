import { DUPLICATE_CONTENT_WINDOW_S } from '@posthorn/contract/limits.ts';
import { type CompanyHold, holdSql } from '../access/company-hold.ts';
import type { NewMessage } from '../content/new-message.ts';
import type { ContactState } from '../guard/guard.ts';
import { lacksSql } from '../instances/driver-abilities.ts';
import type { InstanceSettings } from '../instances/settings.ts';
import type { Sql } from '../platform/database/db.ts';
import { readOpenChats, waitsForPeople } from './conversation-window.ts';
import type { SendCommand } from './send-command.ts';
import { type KnownContent, readContents, type SentContent } from './sent-contents.ts';

/** The rows that decide a batch of sends, read under the instances' locks. */
export interface AcceptKnowledge {
  instances: Map<string, InstanceRow>;
  keys: Map<string, EarlierSend>;
  /** The contents that count as sent, by content id. */
  contents: Map<string, SentContent>;
  /** Contents whose sends all failed before they reached anybody, by content id: they may be sent. */
  unsentContents: ReadonlySet<string>;
  /** By `${instanceId} ${chatJid}`. */
  contacts: Map<string, ContactState>;
  contactRows: Map<string, ContactRow>;
  quoted: Map<string, { instance_id: string; network_id: string | null }>;
  /** Where the network waits for people to write first: the chats in which somebody has. */
  openChats: ReadonlySet<string>;
}

interface InstanceRow {
  id: string;
  company_id: number;
  shard: number;
  state: string;
  /** Why its company may not use it, or null. */
  hold: CompanyHold | null;
  /** The abilities that its network lacks. */
  lacks: string[] | null;
  settings: Partial<InstanceSettings>;
  /** It has a task above the seq that was asked for. */
  isBusy: boolean;
}

interface EarlierSend {
  status: 'queued' | 'sent' | 'failed';
  messageId: string;
  taskId: string;
  bodyHash: string;
  createdAtMs: number;
}

interface ContactRow {
  instanceId: string;
  chatJid: string;
  companyId: number;
  state: ContactState;
  /** It has a row already. */
  known: boolean;
}

/** A task to write, and the message it sends; a send's task id is also the id of its message. */
export interface NewTask {
  taskId: string;
  command: SendCommand;
  message: NewMessage;
  companyId: number;
  shard: number;
  /** The instance's settings at the accept. */
  settings: InstanceSettings;
  keyId: string;
  bodyHash: string;
  quotedNetworkId: string | undefined;
  /** Set unless the content was sent to this chat within the window before. */
  contentId?: string;
}

/** The rows that a batch writes. */
export interface AcceptRows {
  sends: NewTask[];
  /** Deletes and edits: tasks without a message of their own. */
  changes: NewTask[];
  /** Keys past their lifetime that are used again. */
  expiredKeys: string[];
  /** Contents that are sent again because the send before failed. */
  unsentContents: string[];
  contacts: ContactRow[];
  audits: {
    companyId: number;
    userId: number;
    tokenId: number | null;
    action: string;
    instanceId: string;
    detail: Record<string, unknown>;
    traceId: string;
  }[];
}

/**
 * Reads the rows that decide a batch. An earlier statement must have taken the locks: the snapshot of this one is then taken under
 * them, and has everything that the previous holder committed.
 */
export async function readForAccept(
  client: Sql,
  wanted: {
    instanceIds: string[];
    keyIds: string[];
    contentIds: string[];
    contacts: { instanceId: string; chatJid: string }[];
    quotedIds: string[];
    now: Date;
    /** By instance: above which seq to look for tasks. */
    idleAt: ReadonlyMap<string, number>;
  },
): Promise<AcceptKnowledge> {
  const instanceIds = [...new Set(wanted.instanceIds)];
  const quotes = wanted.quotedIds.length > 0;
  const found = await client.query<Read>({
    name: quotes ? 'accept-read-quoted' : 'accept-read',
    text: quotes ? READ_WITH_QUOTED : READ,
    values: [
      instanceIds,
      wanted.keyIds,
      wanted.contentIds,
      JSON.stringify(wanted.contacts.map((contact) => ({ i: contact.instanceId, c: contact.chatJid }))),
      new Date(wanted.now.getTime() - DUPLICATE_CONTENT_WINDOW_S * 1000),
      instanceIds.map((id) => wanted.idleAt.get(id) ?? null),
      ...(quotes ? [wanted.quotedIds] : []),
    ],
  });
  const row = found.rows[0]!;
  const waiting = new Set(row.instances?.flatMap(({ id, lacks }) => (waitsForPeople(lacks) ? [id] : [])));
  const contents = row.contents ? await readContents(client, row.contents) : new Map<string, SentContent>();
  return {
    instances: new Map(row.instances?.map((instance) => [instance.id, instance])),
    keys: row.keys ? await readEarlier(client, row.keys) : new Map(),
    contents,
    unsentContents: new Set(row.contents?.map(({ id }) => id).filter((id) => !contents.has(id))),
    contacts: new Map(
      row.contacts?.map((contact) => [
        `${contact.i} ${contact.c}`,
        { outboundConsecutive: contact.n, score: contact.score, scoreAtMs: contact.ms },
      ]),
    ),
    contactRows: new Map(),
    openChats: await readOpenChats(
      client,
      wanted.contacts.filter(({ instanceId }) => waiting.has(instanceId)),
      wanted.now,
    ),
    quoted: new Map(row.quoted?.map(({ id, ...quoted }) => [id, quoted])),
  };
}

/** Asked by a statement of its own, since keys are rarely used again. */
async function readEarlier(client: Sql, keyIds: string[]): Promise<Map<string, EarlierSend>> {
  const { rows } = await client.query<EarlierSend & { id: string }>({
    name: 'accept-read-earlier',
    text: READ_EARLIER,
    values: [keyIds],
  });
  return new Map(rows.map(({ id, ...earlier }) => [id, earlier]));
}

interface Read {
  instances: InstanceRow[] | null;
  /** Those that were used before. */
  keys: string[] | null;
  contents: KnownContent[] | null;
  contacts: { i: string; c: string; n: number; score: number; ms: number }[] | null;
  quoted?: { id: string; instance_id: string; network_id: string | null }[] | null;
}

const READ = `
SELECT
  (SELECT json_agg(json_build_object('id', i.id, 'company_id', i.company_id, 'shard', i.shard, 'state', i.state,
                                     'hold', ${holdSql('c')}, 'lacks', ${lacksSql('i')}, 'settings', i.settings,
                                     'isBusy', EXISTS (SELECT FROM outbox o WHERE o.instance_id = ANY (ARRAY[i.id])
                                       AND o.seq > ($6::bigint[])[array_position($1::uuid[], i.id)])))
   FROM instances i JOIN companies c ON c.id = ANY (ARRAY[i.company_id])
   WHERE i.id = ANY ($1::uuid[])) AS instances,
  (SELECT json_agg(id) FROM idempotency_keys WHERE id = ANY ($2::uuid[])) AS keys,
  (SELECT json_agg(json_build_object('id', content_id, 'ms', extract(epoch FROM created_at) * 1000,
                                     'messageId', message_id))
   FROM idempotency_keys WHERE content_id = ANY ($3::uuid[]) AND created_at > $5) AS contents,
  (SELECT json_agg(json_build_object('i', g.instance_id, 'c', g.chat_jid, 'n', g.outbound_consecutive,
                                     'score', g.score, 'ms', extract(epoch FROM g.score_at) * 1000))
   FROM json_to_recordset($4) AS w (i uuid, c text)
   JOIN chat_guards g ON g.instance_id = ANY (ARRAY[w.i]) AND g.chat_jid = w.c) AS contacts`;

const READ_WITH_QUOTED = `${READ},
  (SELECT json_agg(json_build_object('id', id, 'instance_id', instance_id, 'network_id', network_id))
   FROM messages WHERE id = ANY ($7::uuid[])) AS quoted`;

const READ_EARLIER = `
SELECT k.id, k.body_hash AS "bodyHash", k.message_id AS "messageId", k.task_id AS "taskId",
  (extract(epoch FROM k.created_at) * 1000)::float8 AS "createdAtMs",
  CASE
    -- a change: its message's state is not its own
    WHEN k.message_id <> k.task_id
    THEN coalesce((SELECT f.status FROM finished_changes f WHERE f.task_id = k.task_id), 'queued')
    WHEN m.status IN ('queued', 'failed') THEN m.status WHEN m.status IS NULL THEN 'queued' ELSE 'sent' END AS status
FROM idempotency_keys k LEFT JOIN messages m ON m.id = ANY (ARRAY[k.message_id])
WHERE k.id = ANY ($1::uuid[])`;
