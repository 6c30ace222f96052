import { z } from 'zod/v4';
import { type Call, callerOf } from './call.ts';

export const lidCalls = {
  /** Null until the phone is revealed. */
  lid_phone(world, session, args) {
    callerOf(session);
    const phone = world.lids.get(z.object({ lid: z.string() }).parse(args).lid);
    return { phone: phone?.lid?.tell === 'at_once' ? phone.phone : null };
  },
} satisfies Record<string, Call>;
