import { randomUUID } from 'node:crypto';
import type { Role } from '@posthorn/core/access/principal.ts';
import { newApiKey } from '@posthorn/core/accounts/tokens/api-key.ts';
import { insertEvents } from '@posthorn/core/events/insert-events.ts';
import type { Sql } from '@posthorn/core/platform/database/db.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { type SeededCompany, seedInstance } from '../support/seed.ts';

/** The callers, by their difference from each other. */
export interface Who {
  owner: SeededCompany;
  admin: SeededCompany;
  agent: SeededCompany;
  unverified: SeededCompany;
  suspended: SeededCompany;
  revoked: SeededCompany;
  root: SeededCompany;
}

/** For each kind of id in a path: one of the caller's own, and those that do not exist for the caller. */
export type Ids = Record<
  string,
  { own: string; foreign: string | null; unknown: string; misshapen: string[] }
>;

/** Another user of the same company, with a key. */
export async function withRole(sql: Sql, company: SeededCompany, role: Role): Promise<SeededCompany> {
  const { companyId } = company;
  const user = await sql.query<{ id: number }>(
    `INSERT INTO users (company_id, email, name, role, email_verified_at) VALUES ($1, $2, $3, $3, now()) RETURNING id`,
    [companyId, `${randomUUID()}@example.test`, role],
  );
  const userId = user.rows[0]!.id;
  const { key, hash, last4 } = newApiKey();
  const token = await sql.query<{ id: number }>(
    `INSERT INTO api_tokens (company_id, user_id, name, key_hash, last4) VALUES ($1, $2, 'seed', $3, $4) RETURNING id`,
    [companyId, userId, hash, last4],
  );
  const principal = { ...company.principal, userId, role, tokenId: token.rows[0]!.id };
  return { companyId, userId, apiKey: key, principal };
}

/** One of each resource for both companies. A new kind of path parameter needs a line here. */
export async function seedIds(sql: Sql, own: SeededCompany, foreign: SeededCompany): Promise<Ids> {
  const [mine, theirs] = [await seedOne(sql, own), await seedOne(sql, foreign)];
  const uuids = { unknown: newId(), misshapen: ['not-a-uuid', '1', `${newId()}0`] };
  const strangers = { unknown: '5511900000009', misshapen: ['12', 'someone@example.com', 'a chat'] };
  const integers = { unknown: '999999999', misshapen: ['abc', '0', '-1', '1.5', '99999999999999'] };
  return {
    instanceId: { own: mine.instanceId, foreign: theirs.instanceId, ...uuids },
    messageId: {
      own: mine.messageId,
      foreign: theirs.messageId,
      unknown: newId(),
      misshapen: ['!?', 'A'.repeat(32)],
    },
    taskId: { own: mine.taskId, foreign: theirs.taskId, ...uuids },
    scheduledId: { own: mine.scheduledId, foreign: theirs.scheduledId, ...uuids },
    statusId: {
      own: mine.statusId,
      foreign: theirs.statusId,
      unknown: '3EB0FFFFFFFFFFFFFFFFFF',
      misshapen: ['!?', newId()],
    },
    chatId: { own: mine.chatId, foreign: theirs.chatId, ...strangers },
    contactId: { own: mine.chatId, foreign: theirs.chatId, ...strangers },
    labelId: { own: mine.labelId, foreign: theirs.labelId, unknown: '7', misshapen: ['0', '21', 'abc'] },
    noteId: { own: mine.noteId, foreign: theirs.noteId, ...integers },
    mediaId: { own: mine.mediaId, foreign: theirs.mediaId, ...uuids },
    groupJid: {
      own: mine.groupJid,
      foreign: theirs.groupJid,
      unknown: '120363099999999999@g.us',
      misshapen: ['!?', '5511999990000'],
    },
    lid: {
      own: mine.lid,
      foreign: theirs.lid,
      unknown: '199999999999999@lid',
      misshapen: ['!?', '5511999990000'],
    },
    templateName: { own: 'order_shipped', foreign: null, unknown: 'no_such_template', misshapen: ['!?'] },
    personJid: { own: '5511999990000', foreign: null, unknown: '5511999990009', misshapen: [] },
    eventId: { own: mine.eventId, foreign: theirs.eventId, ...uuids },
    webhookId: { own: mine.webhookId, foreign: theirs.webhookId, ...integers },
    logId: { own: mine.logId, foreign: theirs.logId, ...integers },
    'tokens.id': { own: mine.tokenId, foreign: theirs.tokenId, ...integers },
    'users.id': { own: mine.userId, foreign: theirs.userId, ...integers },
    'feedback.id': { own: mine.feedbackId, foreign: null, ...integers },
    // Only superadmins have it in a path, and no company is foreign to them.
    companyId: { own: String(own.companyId), foreign: null, ...integers },
    provider: { own: 'google', foreign: null, unknown: 'myspace', misshapen: [] },
  };
}

/**
 * The resources that belong to a phone. Slots of labels are small numbers: each company has one that the other does not
 * have.
 */
async function seedPhone(sql: Sql, company: SeededCompany, instanceId: string) {
  const { companyId } = company;
  const labelId = String(1 + (companyId % 5));
  const chatId = `55119${String(companyId).padStart(8, '0')}@s.whatsapp.net`;
  await sql.query(
    `INSERT INTO labels (instance_id, company_id, label_id, name, color, deleted, revision, updated_at)
     VALUES ($1, $2, $3, 'VIP', 1, false, 1, now())`,
    [instanceId, companyId, labelId],
  );
  await sql.query(
    `INSERT INTO chats (instance_id, company_id, chat_jid, active_at, updated_at) VALUES ($1, $2, $3, now(), now())`,
    [instanceId, companyId, chatId],
  );
  await sql.query(
    `INSERT INTO contacts (instance_id, company_id, jid, name, updated_at) VALUES ($1, $2, $3, 'Ana', now())`,
    [instanceId, companyId, chatId],
  );
  const note = await sql.query<{ id: number }>(
    `INSERT INTO chat_notes (company_id, instance_id, chat_jid, note, author_user_id, created_at, updated_at)
     VALUES ($1, $2, $3, 'a note', $4, now(), now()) RETURNING id`,
    [companyId, instanceId, chatId, company.userId],
  );
  return { labelId, chatId, noteId: String(note.rows[0]!.id) };
}

async function seedOne(sql: Sql, company: SeededCompany) {
  const { companyId } = company;
  const instanceId = await seedInstance(sql, companyId);
  const phone = await seedPhone(sql, company, instanceId);
  const messageId = newId();
  await sql.query(
    `INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, created_at)
     VALUES ($1, $2, $3, 'outbound', 'text', '5511999990000@s.whatsapp.net', 'sent', '{"text":"hi"}', now())`,
    [messageId, companyId, instanceId],
  );
  const taskId = newId();
  await sql.query(
    `INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, message_id, created_at)
     VALUES ($1, $2, $3, 0, 'text', $4, now())`,
    [taskId, companyId, instanceId, messageId],
  );
  const scheduledId = newId();
  await sql.query(
    `INSERT INTO scheduled_sends (id, company_id, instance_id, type, send_at, status, body, idempotency_key, force,
                                  user_id, is_superadmin, created_at)
     VALUES ($1, $2, $3, 'text', now() + interval '1 day', 'scheduled', '{}', 'k', false, $4, false, now())`,
    [scheduledId, companyId, instanceId, company.userId],
  );
  const statusId = `3EB0${randomUUID().replaceAll('-', '').slice(0, 18).toUpperCase()}`;
  await sql.query(
    `INSERT INTO status_feed (id, company_id, instance_id, direction, status_id, author_jid, type, content, posted_at)
     VALUES ($1, $2, $3, 'inbound', $4, '5511999990000@s.whatsapp.net', 'text', 'news', now())`,
    [newId(), companyId, instanceId, statusId],
  );
  const mediaId = randomUUID();
  await sql.query(
    `INSERT INTO media (id, company_id, instance_id, source, mime_type, file_name, size_bytes, sha256, storage_key,
                        created_at)
     VALUES ($1, $2, $3, 'uploads', 'image/png', 'a.png', 1, '\\x00', 'seed', now())`,
    [mediaId, companyId, instanceId],
  );
  const groupJid = `1203630${companyId}00000@g.us`;
  await sql.query(
    `INSERT INTO chat_groups (instance_id, jid, company_id, name, description, announce, locked, participants, told_at,
                              fact_at, updated_at)
     VALUES ($1, $2, $3, 'Group', '', false, false, '[]', now(), now(), now())`,
    [instanceId, groupJid, companyId],
  );
  const lid = `1500000${companyId}00000@lid`;
  await sql.query(
    `INSERT INTO lids (instance_id, lid, company_id, phone, learned_at) VALUES ($1, $2, $3, '5511999990000', now())`,
    [instanceId, lid, companyId],
  );
  const eventId = newId();
  const event = { eventId, companyId, instanceId, type: 'instance.connected', data: {}, traceId: null };
  await insertEvents(sql, [{ ...event, createdAt: new Date() }]);
  const webhook = await sql.query<{ id: number }>(
    `INSERT INTO webhooks (company_id, url, patterns, secret) VALUES ($1, 'https://x.test', '{*}', '\\x00') RETURNING id`,
    [companyId],
  );
  const log = await sql.query<{ id: number }>(
    `INSERT INTO webhook_delivery_logs (company_id, webhook_id, webhook_url, event_id, event_type, event_created_at,
       attempt, success, latency_ms, created_at)
     SELECT company_id, $1, 'https://x.test', event_id, type, created_at, 1, false, 5, created_at
     FROM events WHERE event_id = $2 RETURNING id`,
    [webhook.rows[0]!.id, eventId],
  );
  const feedback = await sql.query<{ id: number }>(
    `INSERT INTO feedback (company_id, user_id, kind, message, created_at, updated_at)
     VALUES ($1, $2, 'idea', 'more', now(), now()) RETURNING id`,
    [companyId, company.userId],
  );
  const other = await withRole(sql, company, 'agent');
  return {
    ...phone,
    instanceId,
    messageId,
    mediaId,
    taskId,
    scheduledId,
    statusId,
    groupJid,
    lid,
    eventId,
    webhookId: String(webhook.rows[0]!.id),
    logId: String(log.rows[0]!.id),
    feedbackId: String(feedback.rows[0]!.id),
    tokenId: String(other.principal.tokenId),
    userId: String(other.userId),
  };
}
