import { ApiError } from '@posthorn/contract/api-error.ts';
import { parseRecipient, phoneOf } from '@posthorn/contract/jid.ts';
import type { Schedulable } from '@posthorn/contract/message-types.ts';
import type { Principal } from '../access/principal.ts';
import { buildEvent, subjectOf } from '../events/build-event.ts';
import { tellEvents } from '../events/tell-events.ts';
import type { Bus } from '../platform/bus.ts';
import { MINUTE_MS } from '../platform/durations.ts';
import type { Log } from '../platform/log.ts';
import { holderIsGone, type Pulse } from '../workers/pulse.ts';
import { findReferenced } from './find-referenced.ts';
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
const BATCH = 100;

/** Refusals of the instance: what is due behind such a send would be refused as well. */
const AWAY: ReadonlySet<string> = new Set([
  'INSTANCE_NOT_CONNECTED',
  'INSTANCE_HARD_PAUSED',
  'COMPANY_SUSPENDED',
]);
const RETRIED: ReadonlySet<string> = new Set([...AWAY, 'SERVICE_UNAVAILABLE']);

interface Due {
  id: string;
  company_id: number;
  instance_id: string;
  type: Schedulable;
  send_at: Date;
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
 * Sends what is due, of each instance in the order of its times. Each send is claimed by one worker, accepted under its own key and
 * promised id (so a claim taken over from a dead worker sends nothing twice) and then a task like any other. What
 * the accept refuses ends as `<type>.delivery_failed` with the code as its reason. Returns how many it claimed.
 */
export async function fireScheduled(deps: FireDeps): Promise<number> {
  if (deps.pulse && !deps.pulse.isAlive()) return 0;
  const now = deps.clock.now();
  const claim = [now, new Date(now.getTime() - CLAIM_MS), BATCH, deps.pulse?.id() ?? null];
  const due = (await deps.db.query<Due>(CLAIM, claim)).rows.toSorted(inOrder);
  // No instance waits for what another one has to prepare.
  const byInstance = Map.groupBy(due, (row) => row.instance_id);
  await Promise.all([...byInstance.values()].map((rows) => fireInOrder(deps, rows)));
  return due.length;
}

/** Each takes its own time to be prepared; the acceptor keeps the order in which it is given them. */
async function fireInOrder(deps: FireDeps, due: readonly Due[]): Promise<void> {
  const prepared = await Promise.allSettled(due.map((row) => prepare(deps, row)));
  await Promise.all(due.map((row, nth) => fire(deps, row, prepared[nth]!)));
}

/** The statement gives the rows in any order. Ids tell which of one moment was scheduled first. */
function inOrder(a: Due, b: Due): number {
  return a.send_at.getTime() - b.send_at.getTime() || (a.id < b.id ? -1 : 1);
}

async function prepare(deps: FireDeps, row: Due): Promise<PreparedSend> {
  return prepareSend(deps, requestOf(row));
}

/** Hands it to the acceptor before anything is waited for. */
async function fire(
  deps: FireDeps,
  row: Due,
  preparation: PromiseSettledResult<PreparedSend>,
): Promise<void> {
  const prepared = preparation.status === 'fulfilled' ? preparation.value : null;
  try {
    if (preparation.status === 'rejected') throw preparation.reason;
    await deps.acceptor.acceptSend(commandOf(requestOf(row), preparation.value));
    await deps.db.query(`UPDATE scheduled_sends SET status = 'queued' WHERE id = $1`, [row.id]);
  } catch (err) {
    await conclude(deps, row, prepared, err).catch((err) =>
      deps.log.warn(
        { err, scheduled_id: row.id, trace_id: row.trace_id },
        'a scheduled send failed, trying again when its claim expires',
      ),
    );
  }
}

function keyScopeOf(row: Due): string {
  return `scheduled ${row.id}`;
}

function requestOf(row: Due): SendRequest & { traceId: string; messageId: string } {
  return {
    principal: principalOf(row),
    instanceId: row.instance_id,
    operation: row.type,
    idempotencyKey: row.idempotency_key,
    force: row.force,
    body: row.body,
    keyScope: keyScopeOf(row),
    traceId: row.trace_id,
    messageId: row.id,
  };
}

/** Who scheduled it, as far as the accept needs to know. */
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
): Promise<void> {
  const now = deps.clock.now();
  if (!(err instanceof ApiError))
    deps.log.warn({ err, scheduled_id: row.id, trace_id: row.trace_id }, 'a scheduled send failed');
  const passing = !(err instanceof ApiError) || RETRIED.has(err.code);
  if (passing && now.getTime() - row.send_at.getTime() < LATE_MAX_MS) {
    // Claimed as of then: it is due again when that claim expires. Without a name it waits for its instance.
    const claimedAt = new Date(now.getTime() - CLAIM_MS + RETRY_MS);
    const isAway = err instanceof ApiError && AWAY.has(err.code);
    await deps.db.query(
      `UPDATE scheduled_sends SET claimed_at = $2, claimed_by = CASE WHEN NOT $4 THEN claimed_by END
       WHERE id = $1 AND claimed_at = $3`,
      [row.id, claimedAt, row.claimed_at, isAway],
    );
    return;
  }
  await fail(deps, row, prepared, err instanceof ApiError ? err.code.toLowerCase() : 'send_failed', now);
}

async function fail(
  deps: FireDeps,
  row: Due,
  prepared: PreparedSend | null,
  reason: string,
  now: Date,
): Promise<void> {
  const { type, chat } = await familyOf(deps, row, prepared);
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
  };
  await tellEvents(deps, (tell) =>
    deps.db.transaction(async (client) => {
      const failed = await client.query(
        // A claim that another took over is the other's to end.
        `UPDATE scheduled_sends SET status = 'failed', failed_reason = $2
         WHERE id = $1 AND status = 'claimed' AND claimed_at = $3`,
        [row.id, reason, row.claimed_at],
      );
      if (failed.rowCount === 0) return;
      const event = { type: `${type}.delivery_failed`, data, now };
      await tell(client, [buildEvent(subjectOf(row), event)]);
    }),
  );
}

/**
 * The family of the failure: of the content, where it could be made; else of the message that it was about
 * (SND-28: a forward fails in the family of its source), or of what was asked for.
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
  const parsed = parseRecipient(String(row.body.to ?? ''));
  return 'jid' in parsed ? parsed.jid : '';
}

// Behind a send that waits for its instance the later ones of that instance wait too: each would come again at
// its own time, and what was due last would be sent first.
const CLAIM = `
UPDATE scheduled_sends SET status = 'claimed', claimed_at = $1, claimed_by = $4
WHERE id IN (
  SELECT id FROM scheduled_sends due
  WHERE send_at <= $1 AND (status = 'scheduled' OR (status = 'claimed' AND (claimed_at < $2 OR ${holderIsGone('claimed_by')})))
    AND NOT EXISTS (
      SELECT FROM scheduled_sends waiting
      WHERE waiting.instance_id = due.instance_id AND waiting.status = 'claimed' AND waiting.claimed_by IS NULL
        AND waiting.claimed_at >= $2 AND waiting.send_at <= $1
        AND (waiting.send_at, waiting.id) < (due.send_at, due.id))
  ORDER BY send_at, id LIMIT $3 FOR UPDATE SKIP LOCKED)
RETURNING id, company_id, instance_id, type, send_at, body, idempotency_key, force, claimed_at, user_id,
          token_id, is_superadmin, trace_id`;
