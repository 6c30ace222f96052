/** A driver's calls about phone calls. */
import { phoneOf } from '@posthorn/contract/jid.ts';
import { z } from 'zod/v4';
import { refuseCall } from '../state/phone-calls.ts';
import { type Call, CallRefused } from './call.ts';

const rejectArgs = z.object({ call_id: z.string(), from: z.string() });
export const accountCalls = {
  reject_call(world, session, args) {
    const { call_id, from } = rejectArgs.parse(args);
    if (!session.account) throw new CallRefused('not_paired');
    refuseCall(world.phones.get(phoneOf(from)), session.account.phone, call_id);
    return {};
  },
} satisfies Record<string, Call>;
