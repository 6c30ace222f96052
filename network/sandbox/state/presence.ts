/** Presence and typing: reported at once to sessions that asked for it, and never repeated. */
import { isGroupJid, type Jid } from '@posthorn/contract/jid.ts';
import type { PresenceBody } from '../fact-frames.ts';
import { sendFrame } from './account-session.ts';
import type { Phone } from './model.ts';
import { sharedJid } from './phones.ts';
import type { World } from './world.ts';

/** Tells the sessions that watch this phone, or the group in which it types. `to` null: online or offline. */
export function tellPresence(world: World, phone: Phone, state: PresenceBody['state'], to: Jid | null): void {
  const group = to !== null && isGroupJid(to) ? world.groups.get(to) : undefined;
  const at = Date.now();
  for (const { session, phone: viewer } of world.accountsByToken.values()) {
    if (session?.phase !== 'live' || viewer === phone) continue;
    // Typing in a one-to-one chat is seen in that chat alone.
    if (to !== null && !group && viewer.jid !== to) continue;
    if (group && !group.participants.has(viewer)) continue;
    if (!session.watched.has(phone) && !(group && session.watched.has(group.jid))) continue;
    const jid = group ? sharedJid(phone) : phone.jid;
    const chat = to === null ? null : (group?.jid ?? phone.jid);
    const last_seen = state === 'unavailable' ? at : null;
    sendFrame(session, { t: 'presence', updates: [{ jid, chat, state, last_seen, at }] });
  }
}
