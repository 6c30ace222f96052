import type { Transaction } from '../platform/database/db.ts';
import { statementOfRows } from '../platform/database/input-rows.ts';
import type { AcceptRows } from './accept-sql.ts';

/** The accept order of tasks, by task id; to be asked after the commit. */
export type WrittenSeqs = () => Promise<Map<string, number>>;

/**
 * Writes a decided batch: with one statement, if it has no delete, edit, forced send, expired key or content whose send
 * failed. Rows that were read under the locks are not asked for again: one that was not there is inserted, one that was is
 * updated. `wantsSeqs`: returns those of the sends.
 */
export async function writeAccepted(
  client: Transaction,
  rows: AcceptRows,
  { now, wantsSeqs }: { now: Date; wantsSeqs: boolean },
): Promise<WrittenSeqs> {
  let seqs: WrittenSeqs = async () => new Map();
  if (rows.sends.length + rows.changes.length === 0) return seqs;
  // A statement of its own: the inserts would not see what their own statement removes.
  if (rows.expiredKeys.length > 0)
    await client.write('DELETE FROM idempotency_keys WHERE id = ANY ($1::uuid[])', [rows.expiredKeys]);
  // No rows gather for a content, however often its sends fail.
  if (rows.unsentContents.length > 0) await client.write(FORGET_CONTENTS, [rows.unsentContents]);
  if (rows.sends.length + rows.contacts.length > 0) seqs = await writeSends(client, rows, now, wantsSeqs);
  if (rows.changes.length > 0) {
    const changes = rows.changes.map(({ command, message, settings, ...change }) => ({
      ...change,
      instanceId: command.instanceId,
      operation: command.operation,
      traceId: command.traceId,
      messageId: message.changes,
      payload: message.payload,
    }));
    await client.write(WRITE_CHANGES({ changes }, { now }));
  }
  if (rows.audits.length > 0) {
    await client.write({
      name: 'accept-audit',
      text: WRITE_AUDIT,
      values: [JSON.stringify(rows.audits), now],
    });
  }
  return seqs;
}

async function writeSends(
  client: Transaction,
  rows: AcceptRows,
  now: Date,
  wantsSeqs: boolean,
): Promise<WrittenSeqs> {
  const sends = rows.sends.map(({ command, message, settings, ...send }) => ({
    ...send,
    instanceId: command.instanceId,
    operation: command.operation,
    idempotencyKey: command.idempotencyKey,
    traceId: command.traceId,
    type: message.type,
    chatJid: message.chatJid,
    content: message.content,
    mediaId: message.mediaId,
    score: message.forwardingScore,
    payload: message.payload,
  }));
  const contacts = rows.contacts.map(({ state, ...row }) => ({
    ...row,
    consecutive: state.outboundConsecutive,
    score: state.score,
  }));
  const known = contacts.some((contact) => contact.known);
  const statement = WRITE[known ? 'known' : 'fresh'][wantsSeqs ? 'returning' : 'silent'];
  const written = await client.writeReturning<{ task_id: string; seq: number }>(
    statement({ sends, contacts }, { now }),
  );
  return async () => new Map((await written.rows()).map((row) => [row.task_id, row.seq]));
}

const SENDS = {
  taskId: 'uuid',
  companyId: 'integer',
  shard: 'smallint',
  keyId: 'uuid',
  bodyHash: 'uuid',
  contentId: 'uuid',
  quotedNetworkId: 'text',
  instanceId: 'uuid',
  operation: 'text',
  idempotencyKey: 'text',
  traceId: 'uuid',
  type: 'text',
  chatJid: 'text',
  content: 'jsonb',
  mediaId: 'uuid',
  score: 'integer',
  payload: 'jsonb',
} as const;

const CONTACTS = {
  instanceId: 'uuid',
  chatJid: 'text',
  companyId: 'integer',
  known: 'boolean',
  consecutive: 'integer',
  score: 'real',
} as const;

const writing = (name: string, { recounts, returns }: { recounts: boolean; returns: boolean }) =>
  statementOfRows({
    name,
    sets: { sends: SENDS, contacts: CONTACTS },
    values: ['now'],
    text: ({ sends, contacts, now }) => `
WITH sends AS ${sends}, keyed AS (
  INSERT INTO idempotency_keys (id, body_hash, message_id, task_id, created_at, content_id)
  SELECT "keyId", "bodyHash", "taskId", "taskId", ${now}, "contentId" FROM sends
), stored AS (
  INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content,
                        idempotency_key, quoted_id, media_id, is_forwarded, forwarding_score, trace_id, created_at)
  SELECT "taskId", "companyId", "instanceId", 'outbound', type, "chatJid", 'queued', content,
         "idempotencyKey", "quotedNetworkId", "mediaId", score IS NOT NULL, coalesce(score, 0), "traceId", ${now}
  FROM sends
), contacts AS ${contacts}, counted AS (
  INSERT INTO chat_guards (instance_id, chat_jid, company_id, outbound_consecutive, score, score_at)
  SELECT "instanceId", "chatJid", "companyId", consecutive, score, ${now} FROM contacts WHERE NOT known
)${recounts ? recountSql(now) : ''}
INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, message_id, payload, trace_id, created_at)
SELECT "taskId", "companyId", "instanceId", shard, operation, "taskId", payload, "traceId", ${now} FROM sends
${returns ? 'RETURNING task_id, seq' : ''}`,
  });

const recountSql = (now: string) => `, recounted AS (
  UPDATE chat_guards AS g
  SET outbound_consecutive = c.consecutive, score = c.score, score_at = ${now}
  FROM contacts AS c
  WHERE c.known AND g.instance_id = ANY (ARRAY[c."instanceId"]) AND g.chat_jid = c."chatJid"
)`;

/** By whether there are rows of contacts to update, and whether the accept order is asked for. */
const WRITE = {
  known: {
    silent: writing('accept-write', { recounts: true, returns: false }),
    returning: writing('accept-write-seqs', { recounts: true, returns: true }),
  },
  fresh: {
    silent: writing('accept-write-new', { recounts: false, returns: false }),
    returning: writing('accept-write-new-seqs', { recounts: false, returns: true }),
  },
};

const WRITE_CHANGES = statementOfRows({
  name: 'accept-changes',
  sets: {
    changes: {
      taskId: 'uuid',
      companyId: 'integer',
      shard: 'smallint',
      keyId: 'uuid',
      bodyHash: 'uuid',
      instanceId: 'uuid',
      operation: 'text',
      traceId: 'uuid',
      messageId: 'uuid',
      payload: 'jsonb',
    },
  },
  values: ['now'],
  text: ({ changes, now }) => `
WITH changes AS ${changes}, keyed AS (
  INSERT INTO idempotency_keys (id, body_hash, message_id, task_id, created_at)
  SELECT "keyId", "bodyHash", "messageId", "taskId", ${now} FROM changes
)
INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, message_id, payload, trace_id, created_at)
SELECT "taskId", "companyId", "instanceId", shard, operation, "messageId", payload, "traceId", ${now} FROM changes`,
});

const FORGET_CONTENTS = 'UPDATE idempotency_keys SET content_id = NULL WHERE content_id = ANY ($1::uuid[])';

const WRITE_AUDIT = `
INSERT INTO audit_log (company_id, user_id, token_id, action, instance_id, detail, trace_id, created_at)
SELECT "companyId", "userId", "tokenId", action, "instanceId", detail, "traceId", $2
FROM json_to_recordset($1) AS r ("companyId" integer, "userId" integer, "tokenId" integer, action text,
                                 "instanceId" uuid, detail jsonb, "traceId" uuid)`;
