import { buildEvent } from '@posthorn/core/events/build-event.ts';
import { recordUnderLease } from '@posthorn/core/instances/create-recorder.ts';
import { readPhones } from '@posthorn/core/lids/read-phones.ts';
import { hashKey } from '@posthorn/core/platform/hashes.ts';
import type { NetworkFact } from '@posthorn/network/facts.ts';
import type { ArrivalsDeps, ArrivalsScope } from './arrivals-context.ts';
import { tameDate } from './tame.ts';

type CallFact = Extract<NetworkFact, { kind: 'call' }>;

type CallDeps = Pick<ArrivalsDeps, 'db' | 'bus' | 'clock' | 'log'>;
type CallScope = Pick<ArrivalsScope, 'companyId' | 'instanceId' | 'lease' | 'loadSettings' | 'session'>;

/** No phone rings longer: a call of which we hear later is over. */
const RINGS_MS = 120_000;

/**
 * Refuses incoming calls where the setting says so, and tells of each call once (INS-14). A call that cannot be
 * refused is told of all the same.
 */
export async function recordCalls(
  deps: CallDeps,
  scope: CallScope,
  calls: readonly CallFact[],
): Promise<void> {
  const { reject_calls } = await scope.loadSettings();
  const now = deps.clock.now();
  const told = await Promise.all(
    calls.map(async (call) => {
      const rings = now.getTime() - call.at.getTime() < RINGS_MS;
      return { call, rejected: reject_calls && rings && (await reject(deps, scope, call)) };
    }),
  );
  await recordUnderLease(deps, scope.lease, async ({ client, tell }) => {
    const events = new Map(told.map(({ call, rejected }) => [eventIdOf(scope, call), { call, rejected }]));
    // The event, whose id is made of the call, is all that is kept of it.
    const known = await client.query<{ event_id: string }>(
      'SELECT event_id FROM events WHERE event_id = ANY ($1::uuid[])',
      [[...events.keys()]],
    );
    for (const { event_id } of known.rows) events.delete(event_id);
    const { instanceId } = scope;
    const phoneOf = await readPhones(
      client,
      calls.map(({ from }) => ({ instanceId, jid: from })),
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
    await session.act('reject_call', { call_id: call.callId, from: call.from });
    return true;
  } catch (err) {
    deps.log.debug({ err, instance_id: scope.instanceId }, 'a call could not be refused');
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
    timestamp: tameDate(at, now).toISOString(),
  };
}
