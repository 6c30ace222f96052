import { setTimeout as delay } from 'node:timers/promises';
import { buildEvent } from '@posthorn/core/events/build-event.ts';
import { recordUnderLease } from '@posthorn/core/instances/create-recorder.ts';
import { readPhones } from '@posthorn/core/lids/read-phones.ts';
import type { NetworkFact } from '@posthorn/core/network/facts.ts';
import { isUnavailable } from '@posthorn/core/platform/database/database-errors.ts';
import { hashKey } from '@posthorn/core/platform/hashes.ts';
import { withTimeout } from '@posthorn/core/platform/process/with-timeout.ts';
import type { ArrivalsDeps, ArrivalsScope } from './arrivals-context.ts';
import { split } from './lists.ts';
import { sanitizeDate } from './sanitize.ts';

type CallFact = Extract<NetworkFact, { kind: 'call' }>;

type CallDeps = Pick<ArrivalsDeps, 'db' | 'bus' | 'clock' | 'log'>;
type CallScope = Pick<
  ArrivalsScope,
  'companyId' | 'instanceId' | 'lease' | 'loadSettings' | 'session' | 'inBackground'
>;

interface Told {
  call: CallFact;
  rejected: boolean;
}

/** No phone rings longer: a call reported later than this is over. */
const RINGS_MS = 120_000;
/** Maximum wait for the network to accept a refusal; after that the call is reported as not refused. */
const ANSWER_MS = 5_000;
const RETRY_MS = 1_000;

/**
 * Reports each call once (INS-14) and first refuses it if the setting says so. Later items do not wait for
 * the network's answer. A call that cannot be refused is still reported.
 */
export async function recordCalls(
  deps: CallDeps,
  scope: CallScope,
  calls: readonly CallFact[],
): Promise<void> {
  const { reject_calls } = await scope.loadSettings();
  const nowMs = deps.clock.now().getTime();
  const [refused, others] = split(calls, ({ at }) => reject_calls && nowMs - at.getTime() < RINGS_MS);
  if (refused.length > 0) scope.inBackground('refuse calls', () => refuse(deps, scope, refused));
  await tellCalls(
    deps,
    scope,
    others.map((call) => ({ call, rejected: false })),
  );
}

async function refuse(deps: CallDeps, scope: CallScope, calls: readonly CallFact[]): Promise<void> {
  const told = await Promise.all(
    calls.map(async (call) => ({ call, rejected: await reject(deps, scope, call) })),
  );
  // The driver does not hand the call over again, so a short database outage must not lose the event.
  for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
    try {
      return await tellCalls(deps, scope, told);
    } catch (err) {
      if (!isUnavailable(err) || waitedMs >= RINGS_MS) throw err;
      await delay(RETRY_MS);
    }
  }
}

async function tellCalls(deps: CallDeps, scope: CallScope, told: readonly Told[]): Promise<void> {
  if (told.length === 0) return;
  const now = deps.clock.now();
  await recordUnderLease(deps, scope.lease, async ({ client, tell }) => {
    const events = new Map(told.map((each) => [eventIdOf(scope, each.call), each]));
    // The event, whose id derives from the call, is the only record of the call.
    const known = await client.query<{ event_id: string }>(
      'SELECT event_id FROM events WHERE event_id = ANY ($1::uuid[])',
      [[...events.keys()]],
    );
    for (const { event_id } of known.rows) events.delete(event_id);
    const { instanceId } = scope;
    const phoneOf = await readPhones(
      client,
      told.map(({ call }) => ({ instanceId, jid: call.from })),
    );
    await tell(
      [...events].map(([eventId, { call, rejected }]) =>
        buildEvent(scope, {
          type: 'call.received',
          data: { ...dataOf(call, rejected, now), phone: phoneOf({ instanceId, jid: call.from }) },
          now,
          eventId,
        }),
      ),
    );
  });
}

async function reject(deps: CallDeps, scope: CallScope, call: CallFact): Promise<boolean> {
  const session = scope.session();
  if (!session) return false;
  try {
    const asked = session.act('reject_call', { call_id: call.callId, from: call.from });
    await withTimeout(asked, ANSWER_MS, () => {
      throw new Error('the network did not answer');
    });
    return true;
  } catch (err) {
    deps.log.debug({ err, instance_id: scope.instanceId }, 'refusing a call failed');
    return false;
  }
}

function eventIdOf({ instanceId }: CallScope, call: CallFact): string {
  return hashKey(instanceId, 'call.received', call.from, call.callId);
}

function dataOf({ callId, from, video, group, at }: CallFact, rejected: boolean, now: Date) {
  return {
    call_id: callId,
    from,
    group_jid: group,
    is_video: video,
    rejected,
    timestamp: sanitizeDate(at, now).toISOString(),
  };
}
