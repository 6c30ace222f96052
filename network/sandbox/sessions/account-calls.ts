/** What a driver asks for the account as a whole: refusing phone calls, and being shown as online. */
import { phoneOf } from '@posthorn/contract/jid.ts';
import { z } from 'zod/v4';
import { refuseCall } from '../state/phone-calls.ts';
import { phoneForJid } from '../state/phones.ts';
import { type Call, CallRefused } from './call.ts';

const rejectArgs = z.object({ call_id: z.string(), from: z.string() });
const presenceArgs = z.union([
  z.object({ state: z.enum(['composing', 'recording', 'paused']), chat: z.string() }),
  z.object({ state: z.enum(['available', 'unavailable']) }),
]);

export const accountCalls: Record<string, Call> = {
  reject_call(world, session, args) {
    const { call_id, from } = rejectArgs.parse(args);
    if (!session.account) throw new CallRefused('not_paired');
    refuseCall(world.phones.get(phoneOf(from)), session.account.phone, call_id);
    return {};
  },

  /** Until the session ends. */
  presence_set(world, session, args) {
    const asked = presenceArgs.parse(args);
    if (!session.account) throw new CallRefused('not_paired');
    if (!('chat' in asked)) session.account.available = asked.state === 'available';
    else if (asked.state === 'paused')
      phoneForJid(world, asked.chat).typing.delete(session.account.phone.jid);
    else phoneForJid(world, asked.chat).typing.set(session.account.phone.jid, Date.now());
    return {};
  },
};
