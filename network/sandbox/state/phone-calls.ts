/** Calls between phones: a call rings without sound, and the called phone may refuse it. */
import type { FactBody } from '../fact-frames.ts';
import { newNetworkId } from './deliver.ts';
import type { Phone, PhoneCall } from './model.ts';
import { pushEvent } from './receipts.ts';
import type { World } from './world.ts';

const RINGS_MS = 60_000;
/** The number of calls that a phone's list keeps. */
const CALLS_MAX = 100;

/** A phone calls another one. An instance hears of it, unless its phone has blocked the caller. */
export function placeCall(
  world: World,
  from: Phone,
  to: Phone,
  { video, at = Date.now() }: { video: boolean; at?: number },
): PhoneCall {
  const call: PhoneCall = { id: newNetworkId(), to: to.jid, video, at, refused: false };
  from.calls.push(call);
  if (from.calls.length > CALLS_MAX) from.calls.shift();
  if (to.account && !to.blocked.has(from.phone)) {
    const fact: FactBody = { kind: 'call', callId: call.id, from: from.jid, video, group: null };
    pushEvent(world, to.account, { k: 'fact', fact, at }, null);
  }
  return call;
}

/** Ends a call that still rings; one that is over stays as it was. */
export function refuseCall(caller: Phone | undefined, callee: Phone, callId: string): void {
  const call = caller?.calls.find(({ id, to }) => id === callId && to === callee.jid);
  if (call && stateOf(call) === 'ringing') call.refused = true;
}

export function shownCall(call: PhoneCall) {
  return {
    id: call.id,
    to: call.to,
    video: call.video,
    state: stateOf(call),
    time: new Date(call.at).toISOString(),
  };
}

function stateOf(call: PhoneCall): 'refused' | 'ringing' | 'missed' {
  if (call.refused) return 'refused';
  return Date.now() - call.at < RINGS_MS ? 'ringing' : 'missed';
}
