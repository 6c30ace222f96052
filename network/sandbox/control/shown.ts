/** The tester's view of phones and messages. */
import type { MediaInfo } from '../families/media.ts';
import { families } from '../families/registry.ts';
import type { Group, Message, Phone } from '../state/model.ts';
import { isOnline, settingOf } from '../state/phones.ts';
import { chatOf } from '../state/recipients.ts';
import type { World } from '../state/world.ts';
import { CDN_PATH } from './cdn-http.ts';

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
    /** The instance paired with this phone. */
    instance: phone.account?.instanceId ?? null,
    contacts: [...phone.contacts],
    blocked: [...phone.blocked],
    status_privacy: phone.statusPrivacy,
    about: phone.about,
    picture: phone.picture && `${CDN_PATH}${phone.picture}`,
    lid: phone.lid?.jid ?? null,
    /** The presence its instance set: available, unavailable, or none. */
    presence: phone.account?.available == null ? null : phone.account.available ? 'available' : 'unavailable',
    unread: phone.unread.size,
    waiting: phone.waiting.length,
    typing: [...phone.typing].map(([from, at]) => ({ from, time: new Date(at).toISOString() })),
  };
}

/** A message as `viewer` sees it. `status` is how far it got: sent, delivered, read or played. */
export function shownMessage(viewer: Phone, message: Message) {
  const { marks } = message;
  const { media, status, ...content } = marks.deleted ? {} : (message.content as Content);
  return {
    id: message.id,
    chat: chatOf(viewer, message),
    from: message.from.jid,
    from_me: message.from === viewer,
    type: message.type,
    text: marks.deleted ? '' : (families.get(message.type)?.words(message.content) ?? ''),
    content,
    /** `url` is a path of this control API. */
    media: media && { url: `${CDN_PATH}${media.handle}`, ...media },
    quoted_id: message.quotedId,
    /** The status it answers. */
    status_id: status?.id,
    is_forwarded: message.forwarded > 0 || undefined,
    forwarding_score: message.forwarded || undefined,
    time: new Date(message.at).toISOString(),
    status: message.status,
    edited: marks.edited,
    deleted: marks.deleted,
    starred: marks.starredBy.includes(viewer.phone),
    pinned: marks.pinned,
    reactions: marks.reactions,
    votes: message.type === 'poll' ? marks.votes : undefined,
  };
}

interface Content extends Record<string, unknown> {
  media?: MediaInfo;
  status?: { id: string };
}

export function shownGroup(group: Group) {
  return {
    jid: group.jid,
    name: group.name,
    description: group.description,
    owner: group.owner?.phone ?? null,
    announce: group.announce,
    locked: group.locked,
    code: group.code,
    participants: [...group.participants].map((phone) => phone.phone),
    admins: [...group.admins].map((phone) => phone.phone),
  };
}
