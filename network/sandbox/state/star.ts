/** Stars: state of one account alone, which its other devices sync back. */

import type { Message, Phone } from './model.ts';
import { pushEvent } from './receipts.ts';
import { authorOf, chatOf } from './recipients.ts';
import type { World } from './world.ts';

export function markStar(phone: Phone, message: Message, starred: boolean): void {
  const others = message.marks.starredBy.filter((number) => number !== phone.phone);
  message.marks = { ...message.marks, starredBy: starred ? [...others, phone.phone] : others };
}

/** Stars a message on a phone; its instance, if it has one, hears of it as of any synced change. */
export function starMessage(world: World, phone: Phone, message: Message, starred: boolean): void {
  markStar(phone, message, starred);
  world.journal.append(['star', phone.phone, message.from.phone, message.id, starred]);
  if (!phone.account) return;
  const chat = chatOf(phone, message);
  const from = authorOf(message);
  pushEvent(
    world,
    phone.account,
    { k: 'starred', id: message.id, chat, from, starred, at: Date.now() },
    null,
  );
}
