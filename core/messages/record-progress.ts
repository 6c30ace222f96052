import type { Jid } from '@posthorn/contract/jid.ts';
import { type ChatTraffic, recordChatTraffic } from '../chats/record-traffic.ts';
import type { NewEvent } from '../events/insert-events.ts';
import { createRecorder, type RecorderDeps, type Recording } from '../instances/create-recorder.ts';
import type { Lease, Recorded } from '../instances/lock-leases.ts';
import { CHAT_JID_SQL } from '../lids/chat-sql.ts';
import { forgetOtherNumbers } from '../lids/other-numbers.ts';
import { type Person, readPhones } from '../lids/read-phones.ts';
import type { Coalescer } from '../platform/database/coalesce.ts';
import type { Sql } from '../platform/database/db.ts';
import { statementOfRows } from '../platform/database/input-rows.ts';
import { type PostedStory, recordPosted, storyOf } from '../status/record-posted.ts';
import { countUsage, type UsageCount } from '../usage/count-usage.ts';
import { type OutboundFacts, progressEvent } from './message-events.ts';
import { type MessageStatus, type Step, stepsBetween } from './progress.ts';
import { skippingRepeats } from './skip-repeats.ts';
import { type UnsentTask, uncountSends } from './uncount-sends.ts';

/** The network proved that a message got somewhere, or will not. */
export interface Progress {
  /** Null for a receipt whose `named` can only be the id of another device's message. */
  messageId: string | null;
  /** On a receipt, the message as the network names it: another device of the account may have sent it. */
  named?: {
    instanceId: string;
    networkId: string;
    /** There is no such message yet. */
    onUnknown(): void;
  };
  /** The lease of the worker that saw it: of a worker that lost the shard nothing is recorded. */
  lease: Lease;
  /** `accepted`: the network has the message and tells later what became of it; its task is done. */
  to: Step | 'accepted';
  at: Date;
  /** How the network calls the message, where that makes the ids. */
  assignedId?: string | undefined;
  /** With a receipt: who received, read or played it; in a group, that member. */
  by?: Jid;
  /** With `failed`: why, and whether anything reached the wire (EVT-9, SND-28). */
  reason?: string;
  wireState?: 'not_sent' | 'unknown';
  /** With `failed`: the network told it of a message that it had taken. */
  isToldByNetwork?: boolean;
}

export type ProgressRecorder = Coalescer<Progress, Recorded>;

/**
 * Records progress: the message's state, its events, the usage counters and the end of its task commit
 * together, many messages in one transaction. Progress that comes late or twice changes nothing, so
 * each event of a message is written exactly once, and what is known to change nothing costs no transaction.
 * Order of pushes is the order of events. Rejects with LeaseLost what would change something and was seen under a lease that
 * has passed.
 */
export function createProgressRecorder(deps: RecorderDeps): ProgressRecorder {
  const rows = new WeakMap<Progress, Row>();
  const recorder = createRecorder<Progress, KnownMessages>(deps, {
    maxBatch: 256,
    read: lockMessages,
    async record(recording, current, known) {
      await record(recording, current, known);
      for (const progress of current) {
        const row = known.find(progress);
        if (row) rows.set(progress, row);
      }
    },
  });
  return skippingRepeats(recorder, (progress) => rows.get(progress));
}

async function record(
  { client, now, tell }: Recording,
  current: readonly Progress[],
  rows: KnownMessages,
): Promise<void> {
  const phoneOf = await readPhones(client, readersOf(current, rows));
  const changes = new Map<string, Change>();
  const events: NewEvent[] = [];
  const usage: UsageCount[] = [];
  const stories: PostedStory[] = [];
  const traffic: ChatTraffic[] = [];
  const unfound: Person[] = [];
  const unsent: UnsentTask[] = [];
  for (const progress of current) {
    const row = rows.find(progress);
    if (!row) progress.named?.onUnknown();
    if (!row) continue;
    const change = changes.get(row.id) ?? {
      id: row.id,
      status: row.status,
      endsTask: row.status === 'queued',
    };
    if (progress.to === 'accepted' || isNewId(row, progress)) changes.set(row.id, change);
    if (isNewId(row, progress)) change.assignedId = row.network_id = progress.assignedId!;
    for (const step of stepsOf(row, progress)) {
      row.status = step;
      change.status = step;
      if (step === 'failed') {
        row.failed_reason = progress.reason ?? 'send_failed';
        change.failedReason = row.failed_reason;
        if (isUnsent(progress)) unsent.push(unsentTaskOf(row));
        if (WITHOUT_ACCOUNT.has(row.failed_reason))
          unfound.push({ instanceId: row.instance_id, jid: row.chat_jid });
      }
      change[`${step}At`] = progress.at.toISOString();
      changes.set(row.id, change);
      const phone = progress.by && phoneOf({ instanceId: row.instance_id, jid: progress.by });
      events.push(progressEvent(row, step, { ...progress, phone }, now));
      const story = step === 'sent' ? storyOf(row, progress.at) : null;
      if (story) stories.push(story);
      if (step === 'sent') traffic.push(trafficOf(row, progress.at));
      // A message that another device sent has no key, and counts for no usage.
      const isCounted = step === 'sent' || step === 'delivered' || step === 'failed';
      if (isCounted && row.idempotency_key !== null) {
        usage.push({ companyId: row.company_id, instanceId: row.instance_id, what: step });
      }
    }
  }
  if (changes.size === 0) return;
  await forgetOtherNumbers(client, unfound);
  await client.write(WRITE({ changes: [...changes.values()] }, {}));
  await uncountSends(client, unsent);
  if (stories.length > 0) events.push(...(await recordPosted(client, stories, now)));
  await recordChatTraffic(client, traffic, now);
  await tell(events);
  await countUsage(client, usage, now);
}

/** Reasons for which a number may have no account any more; an official number is told no more than the second. */
const WITHOUT_ACCOUNT: ReadonlySet<string> = new Set(['recipient_not_found', 'undeliverable']);

function stepsOf({ status, failed_reason: failedReason }: Row, { to, isToldByNetwork }: Progress): Step[] {
  return to === 'accepted' ? [] : stepsBetween(status, to, failedReason, isToldByNetwork);
}

/** Nothing of it has left: nobody knows of a send that the network took first. */
function isUnsent({ wireState, isToldByNetwork }: Progress): boolean {
  return wireState === 'not_sent' && !isToldByNetwork;
}

function unsentTaskOf({
  instance_id: instanceId,
  chat_jid: chatJid,
  created_at: acceptedAt,
}: Row): UnsentTask {
  return { instanceId, chatJid, acceptedAt };
}

function isNewId({ network_id: known }: Row, { assignedId }: Progress): boolean {
  return assignedId !== undefined && known === null;
}

function trafficOf(row: OutboundFacts, at: Date): ChatTraffic {
  const { id: messageId, company_id: companyId, instance_id: instanceId, chat_jid: chatJid, type } = row;
  return { companyId, instanceId, chatJid, messageId, type, at };
}

/** The readers of each message: received, read or played it. */
function readersOf(current: readonly Progress[], rows: KnownMessages): Person[] {
  return current.flatMap((progress) => {
    const { by } = progress;
    const row = rows.find(progress);
    return row && by ? [{ instanceId: row.instance_id, jid: by }] : [];
  });
}

interface Change {
  id: string;
  status: MessageStatus;
  /** It was still queued: its task, which carries its id, is done. */
  endsTask: boolean;
  sentAt?: string;
  deliveredAt?: string;
  readAt?: string;
  playedAt?: string;
  failedAt?: string;
  failedReason?: string;
  assignedId?: string;
}

type Row = OutboundFacts & {
  status: MessageStatus;
  failed_reason: string | null;
  network_id: string | null;
  created_at: Date;
};

interface KnownMessages {
  find(progress: Progress): Row | undefined;
}

/** The rows, locked in the order of their ids so that two batches never wait in a ring. */
async function lockMessages(client: Sql, batch: readonly Progress[]): Promise<KnownMessages> {
  const ids = batch.flatMap(({ messageId }) => messageId ?? []);
  const rows = new Map<string, Row>();
  if (ids.length > 0) {
    const found = await client.query<Row>({
      name: 'messages-progress-lock',
      text: `${LOCK_OUTBOUND} id = ANY ($1::uuid[]) ${IN_ORDER}`,
      values: [[...new Set(ids)]],
    });
    for (const row of found.rows) rows.set(row.id, row);
  }
  const byId = ({ messageId, named }: Progress) => {
    const row = messageId === null ? undefined : rows.get(messageId);
    return named && row?.instance_id !== named.instanceId ? undefined : row;
  };
  const others = batch.flatMap((progress) => (progress.named && !byId(progress) ? [progress.named] : []));
  const byName = others.length > 0 ? await lockNamed(client, others) : new Map<string, Row>();
  return {
    find: (progress) =>
      byId(progress) ??
      (progress.named && byName.get(nameOf(progress.named.instanceId, progress.named.networkId))),
  };
}

function nameOf(instanceId: string, networkId: string | null): string {
  return `${instanceId} ${networkId}`;
}

/** Messages of other devices, which receipts name by ids that those devices drew. */
async function lockNamed(
  client: Sql,
  named: readonly { instanceId: string; networkId: string }[],
): Promise<Map<string, Row>> {
  const found = await client.query<Row>({
    name: 'messages-progress-lock-named',
    text: `${LOCK_OUTBOUND} id = ANY (ARRAY(
             SELECT m.id FROM unnest($1::uuid[], $2::text[]) AS w (instance_id, network_id)
             JOIN messages m ON m.instance_id = ANY (ARRAY[w.instance_id]) AND m.network_id = w.network_id
             WHERE m.network_id IS NOT NULL
           )) ${IN_ORDER}`,
    values: [named.map(({ instanceId }) => instanceId), named.map(({ networkId }) => networkId)],
  });
  return new Map(found.rows.map((row) => [nameOf(row.instance_id, row.network_id), row]));
}

/** Reads and locks outbound messages; the condition follows, and then {@link IN_ORDER}. */
export const LOCK_OUTBOUND = `
SELECT id, company_id, instance_id, type, ${CHAT_JID_SQL}, idempotency_key, media_id, trace_id, status, failed_reason,
  is_forwarded, forwarding_score, network_id, created_at, CASE WHEN type <> 'text' OR content ? 'status_reply' THEN content END AS content
FROM messages WHERE direction = 'outbound' AND`;
/** Two that lock several messages never wait in a ring. */
export const IN_ORDER = 'ORDER BY id FOR UPDATE';

const WRITE = statementOfRows({
  name: 'messages-progress-write',
  sets: {
    changes: {
      id: 'uuid',
      status: 'text',
      endsTask: 'boolean',
      sentAt: 'timestamptz',
      deliveredAt: 'timestamptz',
      readAt: 'timestamptz',
      playedAt: 'timestamptz',
      failedAt: 'timestamptz',
      failedReason: 'text',
      assignedId: 'text',
    },
  },
  values: [],
  text: ({ changes }) => `
WITH changes AS ${changes}, moved AS (
  UPDATE messages SET
    status = changes.status,
    sent_at = coalesce(messages.sent_at, changes."sentAt"),
    delivered_at = coalesce(messages.delivered_at, changes."deliveredAt"),
    read_at = coalesce(messages.read_at, changes."readAt"),
    played_at = coalesce(messages.played_at, changes."playedAt"),
    -- Proof that a message of unknown outcome was sent takes its failure back.
    failed_at = CASE WHEN changes.status = 'failed' THEN coalesce(changes."failedAt", messages.failed_at) END,
    failed_reason = CASE WHEN changes.status = 'failed' THEN coalesce(changes."failedReason", messages.failed_reason) END,
    -- A message whose id is taken goes without: everything else of the batch is recorded all the same.
    network_id = CASE WHEN changes."assignedId" IS NULL OR EXISTS (
        SELECT 1 FROM messages other
        WHERE other.instance_id = messages.instance_id AND other.network_id = changes."assignedId"
      ) THEN messages.network_id ELSE changes."assignedId" END
  FROM changes WHERE messages.id = ANY (ARRAY[changes.id])
)
DELETE FROM outbox USING changes WHERE outbox.task_id = ANY (ARRAY[changes.id]) AND changes."endsTask"`,
});
