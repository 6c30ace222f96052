/** Calls with an immediate answer: the network's queries, and changes of the account's shared state. */
import type { NetworkActions } from '@posthorn/core/network/driver.ts';
import type { Actions } from './actions/action.ts';
import { chatActions } from './actions/chats.ts';
import { groupActions } from './actions/groups.ts';
import { messageActions } from './actions/messages.ts';
import { personActions } from './actions/people.ts';
import { requireLive, type WhatsAppContext } from './session-context.ts';

/** How each question is answered. */
export const ACTIONS: Actions = { ...messageActions, ...chatActions, ...groupActions, ...personActions };

/** Throws as described in the port. */
export async function act<Op extends keyof NetworkActions>(
  session: WhatsAppContext,
  op: Op,
  args: NetworkActions[Op]['args'],
): Promise<NetworkActions[Op]['answer']> {
  requireLive(session);
  return ACTIONS[op](session, args);
}
