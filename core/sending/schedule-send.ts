import { apiError } from '@posthorn/contract/api-error.ts';
import { IDEMPOTENCY_KEY_LIFETIME_S, SCHEDULE_AHEAD_MAX_DAYS } from '@posthorn/contract/limits.ts';
import type { Operation } from '@posthorn/contract/message-types.ts';
import type { ScheduleAccepted, ScheduleBody } from '@posthorn/contract/messaging/scheduled.ts';
import { parseInput } from '@posthorn/contract/validation-error.ts';
import { z } from 'zod/v4';
import { mayReach } from '../access/instance-scope.ts';
import { lockPrincipal } from '../access/lock-principal.ts';
import type { Principal } from '../access/principal.ts';
import { sendRules } from '../content/rules.ts';
import { lockAcceptOrder } from '../guard/accept-order.ts';
import { abilityRefusal, lacksSql } from '../instances/driver-abilities.ts';
import { settingsOf } from '../instances/settings.ts';
import { findReferenced } from '../messages/find-referenced.ts';
import type { Sql } from '../platform/database/db.ts';
import { answeringInTime, type DatabaseWait } from '../platform/database/in-time.ts';
import { DAY_MS } from '../platform/durations.ts';
import { canonicalJson, hashKey } from '../platform/hashes.ts';
import { isUuid, newIdAt } from '../platform/ids.ts';
import { type PrepareDeps, type PreparedSend, prepareSend } from './prepare-send.ts';
import { requireScheduleRoom } from './schedule-room.ts';

export interface ScheduleInput {
  principal: Principal;
  instanceId: string;
  idempotencyKey: string;
  force: boolean;
  traceId: string;
  body: ScheduleBody;
  signal?: AbortSignal | undefined;
  /** How long it may wait for the database. */
  wait: DatabaseWait;
}

/** Scheduled sends have a space of idempotency keys of their own. */
const KEY_SCOPE = 'scheduled';

/** The row of the key under which a send was scheduled. */
export function scheduleKeyId(instanceId: string, idempotencyKey: string): string {
  return hashKey(instanceId, KEY_SCOPE, idempotencyKey);
}

/**
 * Keeps a send for later, under the id that its message will have. Everything that can be checked now is checked now:
 * the body, the quoted message, its media (stored now: a URL may be gone by then) and passive mode. The rest is checked
 * when its time has come (fire-scheduled.ts). Throws ApiError as a send does.
 */
export async function scheduleSend(
  unbounded: PrepareDeps,
  input: ScheduleInput,
): Promise<ScheduleAccepted & { replayed: boolean }> {
  const { type } = input.body;
  const deps = { ...unbounded, db: answeringInTime(unbounded.db, input.wait) };
  const sendAt = new Date(input.body.send_at);
  const { body } = parseInput(z.object({ body: sendRules[type].body }), { body: input.body.body }, 'body');
  const prepared = await prepareSend(unbounded, { ...input, operation: type, body, keyScope: KEY_SCOPE });
  // Checked only when it is no replay: by then the time may have passed.
  const refusal =
    momentRefusal(sendAt, deps.clock.now()) ??
    prepared.refusal ??
    (await quotedRefusal(deps, input.instanceId, prepared));
  const kept = { ...withMediaId(body, prepared.mediaId) };
  const bodyHash = hashKey(canonicalJson([type, sendAt.toISOString(), prepared.body]));
  return deps.db.transaction((sql) => {
    const row = { type, sendAt, body: kept, bodyHash, now: deps.clock.now() };
    return writeOnce(sql, input, row, refusal);
  });
}

function momentRefusal(at: Date, now: Date) {
  const aheadMs = at.getTime() - now.getTime();
  if (aheadMs <= 0) return apiError('BAD_REQUEST', { message: 'send_at: must be in the future' });
  if (aheadMs <= SCHEDULE_AHEAD_MAX_DAYS * DAY_MS) return undefined;
  return apiError('BAD_REQUEST', { message: `send_at: at most ${SCHEDULE_AHEAD_MAX_DAYS} days ahead` });
}

async function quotedRefusal(deps: PrepareDeps, instanceId: string, { message }: PreparedSend) {
  if (!message?.quotedId || !isUuid(message.quotedId)) return undefined;
  const quoted = await findReferenced(deps.db, instanceId, message.quotedId);
  return quoted ? undefined : apiError('MESSAGE_NOT_FOUND');
}

/** Stored media replaces the source that it came from. */
function withMediaId(body: Record<string, unknown>, mediaId: string | undefined): Record<string, unknown> {
  if (!mediaId) return body;
  const { media_url: _, media_base64: __, ...rest } = body;
  return { ...rest, media_id: mediaId };
}

interface NewRow {
  type: Operation;
  sendAt: Date;
  body: Record<string, unknown>;
  bodyHash: string;
  now: Date;
}

/** The instance's lock makes two requests with one key take turns: the second one finds the first's row. */
async function writeOnce(
  sql: Sql,
  input: ScheduleInput,
  row: NewRow,
  refusal: Error | undefined,
): Promise<ScheduleAccepted & { replayed: boolean }> {
  const { principal, instanceId, idempotencyKey } = input;
  // It outlives whoever schedules it. Every role may.
  await lockPrincipal(sql, { ...principal, role: 'agent' });
  await lockAcceptOrder(sql, [instanceId]);
  const keyId = scheduleKeyId(instanceId, idempotencyKey);
  const known = await sql.query<Known>(KNOWN, [
    instanceId,
    keyId,
    new Date(row.now.getTime() - IDEMPOTENCY_KEY_LIFETIME_S * 1000),
  ]);
  const { company_id, settings, lacks, earlier } = known.rows[0] ?? { company_id: null };
  if (company_id === null || !mayReach(principal, company_id)) {
    throw apiError('INSTANCE_NOT_FOUND');
  }
  if (earlier) {
    if (earlier.body_hash !== row.bodyHash) throw apiError('IDEMPOTENCY_KEY_REUSED');
    const sendAt = new Date(earlier.send_at);
    return { ...accepted(earlier.id, earlier.status, sendAt, idempotencyKey), replayed: true };
  }
  const unfit = abilityRefusal(lacks, row.type) ?? refusal;
  if (unfit) throw unfit;
  if (!input.force && settingsOf(settings).passive_mode_enabled) throw apiError('PASSIVE_MODE_ENABLED');
  await requireScheduleRoom(sql, company_id);
  // Messages are listed in the order of their ids: this one stands where it is sent.
  const id = newIdAt(row.sendAt);
  await sql.query(INSERT, [
    id,
    company_id,
    instanceId,
    row.type,
    row.sendAt,
    JSON.stringify(row.body),
    idempotencyKey,
    input.force,
    principal.userId,
    principal.tokenId,
    principal.isSuperadmin,
    input.traceId,
    row.now,
    keyId,
    row.bodyHash,
  ]);
  return { ...accepted(id, 'scheduled', row.sendAt, idempotencyKey), replayed: false };
}

function accepted(
  id: string,
  status: ScheduleAccepted['status'],
  sendAt: Date,
  idempotencyKey: string,
): ScheduleAccepted {
  return { status, id, message_id: id, send_at: sendAt.toISOString(), idempotency_key: idempotencyKey };
}

interface Known {
  company_id: number | null;
  settings?: unknown;
  lacks?: string[] | null;
  earlier?: { id: string; body_hash: string; status: ScheduleAccepted['status']; send_at: string } | null;
}

const KNOWN = `
SELECT i.company_id, i.settings, ${lacksSql('i')} AS lacks,
  (SELECT json_build_object('id', s.id, 'body_hash', k.body_hash, 'status', s.status, 'send_at', s.send_at)
   FROM idempotency_keys k JOIN scheduled_sends s ON s.id = k.message_id
   WHERE k.id = $2 AND k.created_at > $3) AS earlier
FROM instances i WHERE i.id = $1`;

// The key counts from the time of the send: while that waits, a repeat would be a second one.
const INSERT = `
WITH keyed AS (
  INSERT INTO idempotency_keys (id, body_hash, message_id, task_id, created_at)
  VALUES ($14, $15, $1, $1, $5)
  ON CONFLICT (id) DO UPDATE SET body_hash = excluded.body_hash, message_id = excluded.message_id,
    task_id = excluded.task_id, created_at = excluded.created_at
)
INSERT INTO scheduled_sends (id, company_id, instance_id, type, send_at, status, body, idempotency_key, force,
                             user_id, token_id, is_superadmin, trace_id, created_at)
VALUES ($1, $2, $3, $4, $5, 'scheduled', $6, $7, $8, $9, $10, $11, $12, $13)`;
