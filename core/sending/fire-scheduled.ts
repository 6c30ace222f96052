import { ApiError } from '@posthorn/contract/api-error.ts';
import { parseRecipient, phoneOf, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import type { Schedulable } from '@posthorn/contract/message-types.ts';
import type { Principal } from '../access/principal.ts';
import { buildEvent, subjectOf } from '../events/build-event.ts';
import { tellEvents } from '../events/tell-events.ts';
import { readKnownJid } from '../lids/read-phones.ts';
import { findReferenced } from '../messages/find-referenced.ts';
import type { Bus } from '../platform/broker/bus.ts';
import { ADVISORY_LOCKS } from '../platform/database/advisory-locks.ts';
import { isUnavailable } from '../platform/database/database-errors.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { MINUTE_MS } from '../platform/durations.ts';
import type { Log } from '../platform/process/log.ts';
import { holderIsGone, type Pulse } from '../workers/pulse.ts';
import { type PreparedSend, prepareSend } from './prepare-send.ts';
import type { SendDeps } from './send.ts';
import { commandOf } from './send-command.ts';
import type { SendRequest } from './send-request.ts';

export interface FireDeps extends SendDeps {
  bus: Bus;
  log: Log;
  /** Absent: others can take over this worker's claims only when they expire. */
  pulse?: Pulse;
}

/** A claim older than this may be taken over by any worker; the claim of a dead worker at once. */
const CLAIM_MS = 60_000;
const RETRY_MS = 10_000;
/** An instance may be away, or its company suspended, at the due time; later than this, the send has expired. */
const LATE_MAX_MS = 15 * MINUTE_MS;
/** Sends in one statement of a claim. */
const BATCH = 100;
/** Statements of one claim. Each leaves out the companies that the ones before found. */
const ROUNDS = 5;

/** Refusals that pass. */
const RETRIED: ReadonlySet<string> = new Set([
  'INSTANCE_NOT_CONNECTED',
  'INSTANCE_HARD_PAUSED',
  'COMPANY_SUSPENDED',
  'SERVICE_UNAVAILABLE',
]);

interface Due {
  id: string;
  company_id: number;
  instance_id: string;
  type: Schedulable;
  send_at: Date;
  created_at: Date;
  body: Record<string, unknown>;
  idempotency_key: string;
  force: boolean;
  /** This claim, as opposed to a later one. */
  claimed_at: Date;
  user_id: number;
  token_id: number | null;
  is_superadmin: boolean;
  trace_id: string;
}

/**
 * Sends the scheduled sends that are due, those of each instance in the order of their times. One worker claims each
 * send and accepts it under its own key and promised id (so a claim taken over from a dead worker sends nothing twice);
 * it is then a task like any other. A send that the accept refuses ends as `<type>.delivery_failed` with the code as
 * its reason. Returns how many it claimed. A worker makes one call at a time.
 */
export async function fireScheduled(deps: FireDeps): Promise<number> {
  if (deps.pulse && !deps.pulse.isAlive()) return 0;
  const due = (await claimDue(deps)).toSorted(inOrder);
  // No instance waits for what another one has to prepare.
  const byInstance = Map.groupBy(due, (row) => row.instance_id);
  await Promise.all([...byInstance.values()].map((rows) => fireInOrder(deps, rows)));
  return due.length;
}

/**
 * Claims due sends, one worker at a time: a claim that began before another one was committed would not see which sends
 * that took, and would take the sends behind them. A worker that finds another one claiming leaves the round to it.
 */
async function claimDue(deps: FireDeps): Promise<Due[]> {
  return deps.db.transaction(async (sql) => {
    const { rows } = await sql.query<{ mine: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS mine', [
      ADVISORY_LOCKS.scheduledClaims,
    ]);
    if (!oneRow(rows).mine) return [];
    const now = deps.clock.now();
    const claim = [now, new Date(now.getTime() - CLAIM_MS), BATCH, deps.pulse?.id() ?? null];
    const due: Due[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      // Thousands of sends of one company may be due: the others do not wait until all of them are accepted.
      const found = await sql.query<Due>(CLAIM, [...claim, due.map((row) => row.company_id)]);
      due.push(...found.rows);
      if (found.rows.length < BATCH) break;
    }
    return due;
  });
}

/**
 * Prepares them at the same time and accepts them one after another: one that has to be tried again holds back those
 * behind it. A worker that may have been declared dead accepts no more: its successor may be working on an earlier one.
 */
async function fireInOrder(deps: FireDeps, due: readonly Due[]): Promise<void> {
  const prepared = await Promise.allSettled(due.map(async (row) => prepareSend(deps, requestOf(row))));
  for (const [nth, row] of due.entries()) {
    try {
      const alive = deps.pulse?.isAlive() ?? true;
      if (alive && (await fire(deps, row, prepared[nth]!)) === 'ended') continue;
      await putBack(deps, due.slice(nth));
    } catch (err) {
      deps.log.warn(
        { err, scheduled_id: row.id, trace_id: row.trace_id },
        'a scheduled send failed, trying again with the next claim',
      );
    }
    return;
  }
}

/** The statement gives the rows in any order. Ids tell which of those that a process scheduled at once came first. */
function inOrder(a: Due, b: Due): number {
  return (
    a.send_at.getTime() - b.send_at.getTime() ||
    a.created_at.getTime() - b.created_at.getTime() ||
    (a.id < b.id ? -1 : 1)
  );
}

/** Accepts the send, or ends it with the reason of the refusal. `again`: the obstacle may pass. */
async function fire(
  deps: FireDeps,
  row: Due,
  preparation: PromiseSettledResult<PreparedSend>,
): Promise<'ended' | 'again'> {
  const prepared = preparation.status === 'fulfilled' ? preparation.value : null;
  try {
    if (preparation.status === 'rejected') throw preparation.reason;
    await deps.acceptor.acceptSend(commandOf(requestOf(row), preparation.value));
  } catch (err) {
    return conclude(deps, row, prepared, err);
  }
  await deps.db.query(`UPDATE scheduled_sends SET status = 'queued', finished_at = $2 WHERE id = $1`, [
    row.id,
    deps.clock.now(),
  ]);
  return 'ended';
}

function requestOf(row: Due): SendRequest & { traceId: string; messageId: string } {
  return {
    principal: principalOf(row),
    instanceId: row.instance_id,
    operation: row.type,
    idempotencyKey: row.idempotency_key,
    force: row.force,
    body: row.body,
    keyScope: `scheduled ${row.id}`,
    traceId: row.trace_id,
    messageId: row.id,
  };
}

/** The user who scheduled it, as far as the accept needs to know. */
function principalOf(row: Due): Principal {
  return {
    companyId: row.company_id,
    userId: row.user_id,
    role: 'owner',
    isSuperadmin: row.is_superadmin,
    via: row.token_id === null ? 'jwt' : 'key',
    tokenId: row.token_id,
    jti: null,
    endsAtMs: null,
    emailVerified: true,
    requestsPerMinute: 0,
  };
}

async function conclude(
  deps: FireDeps,
  row: Due,
  prepared: PreparedSend | null,
  err: unknown,
): Promise<'ended' | 'again'> {
  const now = deps.clock.now();
  if (!(err instanceof ApiError))
    deps.log.warn({ err, scheduled_id: row.id, trace_id: row.trace_id }, 'a scheduled send failed');
  if (isUnavailable(err)) return 'again';
  // The accept that the database did not answer may have been committed, or be committed yet: its key tells.
  if (prepared !== null && err instanceof ApiError && err.code === 'SERVICE_UNAVAILABLE') return 'again';
  const passing = !(err instanceof ApiError) || RETRIED.has(err.code);
  if (passing && now.getTime() - row.send_at.getTime() < LATE_MAX_MS) return 'again';
  await fail(deps, row, prepared, err instanceof ApiError ? err.code.toLowerCase() : 'send_failed', now);
  return 'ended';
}

/**
 * Makes all of them due again after a while, and claimed by no worker. Takes the claim lock, so that no claim sees half
 * of this.
 */
async function putBack(deps: FireDeps, rows: readonly Due[]): Promise<void> {
  await deps.db.transaction(async (sql) => {
    await sql.query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.scheduledClaims]);
    // Claimed as of then: due again when that claim expires.
    const claimedAt = new Date(deps.clock.now().getTime() - CLAIM_MS + RETRY_MS);
    await sql.query(
      `UPDATE scheduled_sends SET claimed_at = $2, claimed_by = NULL
       WHERE id = ANY ($1::uuid[]) AND status = 'claimed' AND claimed_at = $3`,
      [rows.map(({ id }) => id), claimedAt, rows[0]!.claimed_at],
    );
  });
}

async function fail(
  deps: FireDeps,
  row: Due,
  prepared: PreparedSend | null,
  reason: string,
  now: Date,
): Promise<void> {
  const { type, chat: named } = await familyOf(deps, row, prepared);
  const chat = await readKnownJid(deps.db, row.instance_id, named);
  const data = {
    message_ids: [row.id],
    message_type: type,
    chat,
    phone: phoneOf(chat),
    from: chat,
    is_from_me: true,
    timestamp: now.toISOString(),
    idempotency_key: row.idempotency_key,
    wire_state: 'not_sent',
    reason,
    ...(row.type === 'delete' || row.type === 'edit' ? { operation: row.type } : {}),
  };
  await tellEvents(deps, (tell) =>
    deps.db.transaction(async (client) => {
      const failed = await client.query(
        // If another worker took over the claim, that one ends it.
        `UPDATE scheduled_sends SET status = 'failed', failed_reason = $2, finished_at = $4
         WHERE id = $1 AND status = 'claimed' AND claimed_at = $3`,
        [row.id, reason, row.claimed_at, now],
      );
      if (failed.rowCount === 0) return;
      const event = { type: `${type}.delivery_failed`, data, now };
      await tell(client, [buildEvent(subjectOf(row), event)]);
    }),
  );
}

/**
 * The family of a failed send: that of its content, if it could be made; else that of the message that it was about
 * (SND-28: a forward fails in the family of its source), or that of the requested type.
 */
async function familyOf(
  deps: FireDeps,
  row: Due,
  prepared: PreparedSend | null,
): Promise<{ type: string; chat: string }> {
  if (prepared?.message) return { type: prepared.message.type, chat: prepared.message.chatJid };
  const chat = chatOf(row);
  if (row.type === 'link_preview') return { type: 'text', chat };
  if (row.type !== 'forward' && row.type !== 'delete' && row.type !== 'edit') return { type: row.type, chat };
  const target = await findReferenced(deps.db, row.instance_id, String(row.body.message_id ?? ''));
  return { type: target?.type ?? 'text', chat: chat || (target?.chatJid ?? '') };
}

function chatOf(row: Due): string {
  if (row.type.startsWith('status_')) return STATUS_BROADCAST;
  const parsed = parseRecipient(String(row.body.to ?? ''));
  return 'jid' in parsed ? parsed.jid : '';
}

/**
 * SQL: the claim of this row is over; `$2` is the oldest claim that counts. The worker `$4` that claims now is working
 * on no send: a row that is still claimed by it was cut off by the database, before the worker got it or while it
 * accepted it.
 */
function claimIsOver(row: string): string {
  return `(${row}.claimed_at < $2 OR ${holderIsGone(`${row}.claimed_by`)} OR coalesce(${row}.claimed_by = $4, false))`;
}

// Behind a send that a worker is accepting, or that waits to be tried again, the later ones of its instance wait too,
// however slow the worker is. Locked rows are about to end.
const CLAIM = `
UPDATE scheduled_sends SET status = 'claimed', claimed_at = $1, claimed_by = $4
WHERE id IN (
  SELECT id FROM scheduled_sends due
  WHERE send_at <= $1 AND (status = 'scheduled' OR (status = 'claimed' AND ${claimIsOver('due')}))
    AND company_id <> ALL ($5::integer[])
    AND NOT EXISTS (
      SELECT FROM scheduled_sends held
      WHERE held.instance_id = ANY (ARRAY[due.instance_id]) AND held.status = 'claimed' AND NOT ${claimIsOver('held')}
        AND (held.send_at, held.created_at, held.id) < (due.send_at, due.created_at, due.id))
  ORDER BY send_at, created_at, id LIMIT $3 FOR UPDATE SKIP LOCKED)
RETURNING id, company_id, instance_id, type, send_at, created_at, body, idempotency_key, force, claimed_at, user_id,
          token_id, is_superadmin, trace_id`;
