import { apiError } from '@posthorn/contract/api-error.ts';
import {
  PLAYGROUND_KINDS,
  type PlaygroundMessage,
  type PlaygroundState,
} from '@posthorn/contract/messaging/playground.ts';
import type { Principal } from '../access/principal.ts';
import { PLATFORM_COMPANY_ID } from '../access/superadmin.ts';
import { eventBodySql } from '../events/event-body.ts';
import { isUuid, networkIdOf } from '../platform/ids.ts';
import { dayEndMs, readSpent, SENDS_PER_DAY } from './budget.ts';
import { type PlaygroundDeps, requireEnabled } from './send-in-playground.ts';
import { PLAYGROUND_INSTANCE_ID } from './shared-instance.ts';

/** The operations of the playground, and the user's remaining sends of today. */
export async function readPlayground(
  deps: Pick<PlaygroundDeps, 'db' | 'clock' | 'playground'>,
  principal: Principal,
): Promise<PlaygroundState> {
  const nowMs = deps.clock.now().getTime();
  const { today } = await readSpent(deps.db, principal.userId, nowMs);
  return {
    enabled: deps.playground.enabled,
    kinds: [...PLAYGROUND_KINDS],
    budget: {
      limit: SENDS_PER_DAY,
      remaining: Math.max(0, SENDS_PER_DAY - today),
      resets_at: new Date(dayEndMs(nowMs)).toISOString(),
    },
  };
}

/**
 * The state of a message of this user, the events about it, and the phone's view of it. Throws 404 MESSAGE_NOT_FOUND,
 * for another user's too; 403 PLAYGROUND_DISABLED.
 */
export async function readPlaygroundMessage(
  deps: Pick<PlaygroundDeps, 'db' | 'playground'>,
  input: { principal: Principal; messageId: string },
): Promise<PlaygroundMessage> {
  const { principal, messageId } = input;
  if (!isUuid(messageId)) throw apiError('MESSAGE_NOT_FOUND');
  const { rows } = await deps.db.query<Found>(FIND, [messageId, principal.userId, PLATFORM_COMPANY_ID]);
  const found = rows[0];
  if (!found) throw apiError('MESSAGE_NOT_FOUND');
  requireEnabled(deps);
  return {
    status: found.status,
    events: found.events ?? [],
    shown: await deps.playground.phones.shown(found.phone, networkIdOf(found.shown_by)),
  };
}

interface Found {
  phone: string;
  shown_by: string;
  status: PlaygroundMessage['status'];
  events: Record<string, unknown>[] | null;
}

// By the index events_playground, which has these events alone: its condition names the instance as a literal too.
const FIND = `
SELECT s.phone, s.shown_by, m.status,
  (SELECT json_agg(${eventBodySql('e')}::json ORDER BY e.tx, e.id) FROM events e
   WHERE e.company_id = $3 AND e.instance_id = '${PLAYGROUND_INSTANCE_ID}' AND e.data -> 'message_ids' ->> 0 = m.id::text
     AND e.created_at BETWEEN m.created_at - interval '1 minute' AND m.created_at + interval '1 day') AS events
FROM playground_sends s JOIN messages m ON m.id = s.id
WHERE s.id = $1 AND s.user_id = $2`;
