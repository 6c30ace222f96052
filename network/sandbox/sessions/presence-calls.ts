/** An instance sets its own presence, and subscribes to that of others. */
import { isGroupJid } from '@posthorn/contract/jid.ts';
import { z } from 'zod/v4';
import { findPhone } from '../state/phones.ts';
import { tellPresence } from '../state/presence.ts';
import { type Call, CallRefused, callerOf } from './call.ts';

const setArgs = z.union([
  z.object({ state: z.enum(['available', 'unavailable']) }),
  z.object({ state: z.enum(['composing', 'recording', 'paused']), chat: z.string() }),
]);

export const presenceCalls = {
  presence_set(world, session, args) {
    const phone = callerOf(session);
    const set = setArgs.parse(args);
    if (!('chat' in set)) {
      if (session.account) session.account.available = set.state === 'available';
      tellPresence(world, phone, set.state, null);
      return {};
    }
    const group = world.groups.get(set.chat);
    const peer = isGroupJid(set.chat) ? null : findPhone(world, set.chat);
    const viewers = group?.participants.has(phone) ? [...group.participants] : peer ? [peer] : [];
    if (viewers.length === 0) throw new CallRefused('chat_not_found');
    for (const viewer of viewers) {
      if (set.state === 'paused') viewer.typing.delete(phone.jid);
      else if (viewer !== phone) viewer.typing.set(phone.jid, Date.now());
    }
    tellPresence(world, phone, set.state, group?.jid ?? peer?.jid ?? null);
    return {};
  },

  presence_subscribe(world, session, args) {
    callerOf(session);
    const { jid } = z.object({ jid: z.string() }).parse(args);
    const who = isGroupJid(jid) ? (world.groups.get(jid)?.jid ?? null) : findPhone(world, jid);
    if (who === null) throw new CallRefused('chat_not_found');
    session.watched.add(who);
    return {};
  },
} satisfies Record<string, Call>;
