/** How phones and messages look to a tester. */
import { families } from '../families/registry.ts';
import { isOnline, settingOf } from '../state/phones.ts';
import type { Message, Phone, World } from '../state/world.ts';

export function shownPhone(world: World, phone: Phone) {
  return {
    phone: phone.phone,
    jid: phone.jid,
    name: phone.name,
    business: phone.business,
    online: isOnline(world, phone),
    auto_read: settingOf(world, phone, 'auto_read'),
    read_delay_ms: settingOf(world, phone, 'read_delay_ms'),
    delivery_delay_ms: settingOf(world, phone, 'delivery_delay_ms'),
    read_receipts: settingOf(world, phone, 'read_receipts'),
    auto_reply: settingOf(world, phone, 'auto_reply'),
    /** The instance that is paired with this phone. */
    instance: phone.account?.instanceId ?? null,
    unread: phone.unread.size,
    waiting: phone.waiting.length,
    typing: [...phone.typing].map(([from, at]) => ({ from, time: new Date(at).toISOString() })),
  };
}

/** A message as `viewer` sees it. `status` is how far it got: sent, delivered, read or played. */
export function shownMessage(viewer: Phone, message: Message) {
  const { marks } = message;
  const fromMe = message.from === viewer;
  return {
    id: message.id,
    chat: fromMe ? message.to : message.from.jid,
    from: message.from.jid,
    from_me: fromMe,
    type: message.type,
    text: families.get(message.type)?.words(message.content) ?? '',
    content: message.content,
    quoted_id: message.quotedId,
    time: new Date(message.at).toISOString(),
    status: message.status,
    edited: marks.edited,
    deleted: marks.deleted,
    starred: marks.starredBy.includes(viewer.phone),
    pinned: marks.pinned,
    reactions: marks.reactions,
  };
}
