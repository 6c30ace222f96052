/** Calls with an immediate answer: the network's queries, and changes of the account's shared state. */
import { type NetworkActions, SendRefused } from '@posthorn/core/network/driver.ts';
import type { Actions } from './actions/action.ts';
import { chatActions } from './actions/chats.ts';
import { groupActions } from './actions/groups.ts';
import { messageActions } from './actions/messages.ts';
import { personActions } from './actions/people.ts';
import { knownAddressOf } from './recipients.ts';
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
  const answer = (ACTIONS as Partial<Record<Op, (session: WhatsAppContext, args: never) => unknown>>)[op];
  if (!answer) throw new SendRefused('unsupported_call');
  return (await answer(session, addressed(session, args) as never)) as NetworkActions[Op]['answer'];
}

/** Names the chat as the network does. */
function addressed(session: WhatsAppContext, args: object): object {
  const { chat } = args as { chat?: unknown };
  return typeof chat === 'string' ? { ...args, chat: knownAddressOf(session, chat) ?? chat } : args;
}
