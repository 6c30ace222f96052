import { ApiError, apiError } from '@posthorn/contract/api-error.ts';
import type {
  ParticipantOutcome,
  ParticipantsBody,
  ParticipantsChanged,
} from '@posthorn/contract/messaging/groups.ts';
import type { ParticipantAction } from '../network/actions.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { askGroup, type GroupCaller, keepAnswer, requireGroup } from './ask-group.ts';
import { refusalsOf } from './refusals.ts';

/** In this order: who is added can be promoted at once, and whoever takes itself out does so last. */
const ACTIONS: readonly ParticipantAction[] = ['add', 'promote', 'demote', 'remove'];

/**
 * Adds, removes, promotes and demotes participants, with an outcome for each. Throws as askGroup does when the network
 * refuses the first of the four that is asked for; what it refuses after something was done is told by the outcomes.
 */
export async function changeParticipants(
  deps: RpcDeps,
  input: GroupCaller & { groupJid: string; body: ParticipantsBody },
): Promise<ParticipantsChanged> {
  const { groupJid, body, ...caller } = input;
  const scope = await requireGroup(deps, caller, groupJid, 'group_participants');
  if (ACTIONS.every((action) => body[action].length === 0))
    throw apiError('BAD_REQUEST', { message: 'give at least one of add, remove, promote, demote' });
  const results: ParticipantOutcome[] = [];
  for (const action of ACTIONS) {
    const participants = [...new Set(body[action])];
    if (participants.length === 0) continue;
    const askedAt = deps.clock.now();
    try {
      const args = { group: groupJid, action, participants };
      const answer = (await askGroup(deps, caller, 'group_participants', args)) as Answer;
      await keepAnswer(deps, scope, answer?.group, { askedAt, wasStored: true });
      const refused = refusalsOf(answer?.refused);
      results.push(...participants.map((jid) => outcomeOf(jid, action, refused.get(jid) ?? null)));
    } catch (err) {
      if (results.length === 0 || !(err instanceof ApiError) || err.status === 503) throw err;
      const reason = err.code === 'FORBIDDEN' ? 'not_admin' : err.code.toLowerCase();
      results.push(...participants.map((jid) => outcomeOf(jid, action, reason)));
    }
  }
  return { jid: groupJid, results };
}

type Answer = { group?: unknown; refused?: unknown } | null;

function outcomeOf(jid: string, action: ParticipantAction, reason: string | null): ParticipantOutcome {
  return { jid, action, done: reason === null, reason };
}
