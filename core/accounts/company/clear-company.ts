import { forgetCached } from '../../access/forget-cached.ts';
import { mails } from '../../mail/mails.ts';
import { ADVISORY_LOCKS } from '../../platform/database/advisory-locks.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { requestCancels } from '../../rpc/rpc-requests.ts';
import { webhookNotification } from '../../webhooks/notifications.ts';
import type { AccountDeps } from '../deps.ts';

/** The counts of what {@link clearCompany} ended. */
export interface ClearedCompany {
  users: number;
  webhooks: number;
  instances: number;
  scheduled: number;
  queued: number;
  proxies: number;
}

/** How long a worker may be away and still be asked to cancel what was queued. */
const CANCEL_WITHIN_MS = DAY_MS;

/** The reason that a webhook disabled here shows. */
const WEBHOOK_REASON = 'owner_proven';

/**
 * Leaves a company to one user: removes the others (with their keys and sessions), disables its webhooks, disconnects
 * its instances, takes their proxies away, and cancels what is scheduled or queued, which would go out by the phone that is paired
 * next. Nothing else tells
 * what a stranger set up who registered the company with somebody else's address: an invited second owner has a proven
 * address as well. Data, settings and credentials stay, so an honest owner can enable, connect and invite again. Runs in
 * the caller's transaction, which holds the row of the user who stays.
 */
export async function clearCompany(
  deps: Pick<AccountDeps, 'clock' | 'mails'>,
  sql: Sql,
  input: { companyId: number; keepUserId: number; traceId: string | null },
): Promise<ClearedCompany> {
  const { companyId, keepUserId, traceId } = input;
  const at = deps.clock.now();
  // Before the company, as whoever makes something in it does: the other order is a deadlock.
  await sql.query('SELECT FROM users WHERE company_id = $1 ORDER BY id FOR UPDATE', [companyId]);
  // Creating a user, webhook or instance locks this row too, so none can appear meanwhile.
  const company = await sql.query<{ name: string }>('SELECT name FROM companies WHERE id = $1 FOR UPDATE', [
    companyId,
  ]);
  const users = await sql.query<{ email: string; name: string }>(
    'DELETE FROM users WHERE company_id = $1 AND id <> $2 RETURNING email, name',
    [companyId, keepUserId],
  );
  for (const user of users.rows)
    await deps.mails.queue(sql, {
      ...mails.accessEnded({ name: user.name, company: oneRow(company.rows).name }),
      to: user.email,
      kind: 'access_ended',
      companyId,
      traceId,
    });
  // An instance that is being deleted takes its webhooks with it: in this order, neither waits for the other.
  const instances = await disconnectInstances(sql, companyId, at);
  const webhooks = await disableWebhooks(sql, companyId, at);
  const scheduled = await cancelScheduled(sql, companyId, at);
  const queued = await requestCancels(sql, {
    companyId,
    expiresAt: new Date(at.getTime() + CANCEL_WITHIN_MS),
  });
  await leaveQueued(sql, companyId);
  const proxies = await removeProxies(sql, companyId, at);
  await forgetCached(sql, `company:${companyId}`);
  return { users: users.rows.length, webhooks, instances, scheduled, queued, proxies };
}

async function disableWebhooks(sql: Sql, companyId: number, at: Date): Promise<number> {
  const { rows } = await sql.query<{ id: number }>(
    `UPDATE webhooks SET enabled = false, disabled_reason = $3, updated_at = $2
     WHERE company_id = $1 AND enabled RETURNING id`,
    [companyId, at, WEBHOOK_REASON],
  );
  await sql.query(`SELECT pg_notify('deliveries', hint) FROM unnest($1::text[]) AS hint`, [
    rows.map((webhook) => webhookNotification(webhook.id)),
  ]);
  return rows.length;
}

/** Includes those that the end of a suspension would reconnect. */
async function disconnectInstances(sql: Sql, companyId: number, at: Date): Promise<number> {
  const { rows } = await sql.query<{ id: string }>(
    `UPDATE instances SET wanted = 'disconnected', resume_after_suspension = false, updated_at = $2
     WHERE company_id = $1 AND (wanted = 'connected' OR resume_after_suspension) RETURNING id`,
    [companyId, at],
  );
  await sql.query(`SELECT pg_notify('instance', id) FROM unnest($1::text[]) AS id`, [
    rows.map((instance) => instance.id),
  ]);
  return rows.length;
}

/** Includes those that are due and tried again until their instance is connected, which may be by the owner's phone. */
async function cancelScheduled(sql: Sql, companyId: number, at: Date): Promise<number> {
  // Workers that put claimed ones back hold it, too: in two orders of rows each could wait for the other.
  await sql.query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.scheduledClaims]);
  const { rowCount } = await sql.query(
    `UPDATE scheduled_sends SET status = 'cancelled', finished_at = $2
     WHERE company_id = $1 AND status IN ('scheduled', 'claimed')`,
    [companyId, at],
  );
  return rowCount ?? 0;
}

/** A request to cancel can be lost with its worker: what still waits then fails when its instance connects (SND-54). */
async function leaveQueued(sql: Sql, companyId: number): Promise<void> {
  await sql.query(
    `UPDATE instances SET first_own_seq = nextval(pg_get_serial_sequence('outbox', 'seq')) WHERE company_id = $1`,
    [companyId],
  );
}

/** The traffic of the phone that is paired next must not pass a stranger's machine. */
async function removeProxies(sql: Sql, companyId: number, at: Date): Promise<number> {
  const { rowCount } = await sql.query(
    `UPDATE instances SET proxy = NULL, proxy_shown = NULL, updated_at = $2 WHERE company_id = $1 AND proxy IS NOT NULL`,
    [companyId, at],
  );
  return rowCount ?? 0;
}
