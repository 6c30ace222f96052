/** A driver's calls about state shared by an account's devices: labels, chats, contacts. */
import { phoneOf } from '@posthorn/contract/jid.ts';
import { z } from 'zod/v4';
import { target } from '../families/family.ts';
import { phoneNumber } from '../phone-number.ts';
import { changeBlock } from '../state/change-phone.ts';
import { arriveAtInstance, readMessage } from '../state/deliver.ts';
import { changeDevice } from '../state/device.ts';
import { freeSlot, hasAllPins, labelOf } from '../state/device-state.ts';
import type { Phone, Session } from '../state/model.ts';
import { phoneForJid } from '../state/phones.ts';
import { findTarget } from '../state/recipients.ts';
import { type Call, CallRefused } from './call.ts';

const chat = z.string().max(64);
const labelId = z.string().min(1).max(16);
const labelArgs = z.object({
  label_id: labelId,
  name: z.string().max(1000),
  color: z.int(),
  deleted: z.boolean(),
  is_new: z.boolean(),
});
const labelChatArgs = z.object({ label_id: labelId, chat, associated: z.boolean() });
const labelMessageArgs = labelChatArgs.extend({ target });
const readArgs = z.object({ chat, read: z.boolean(), message_ids: z.array(z.string()) });
const archiveArgs = z.object({ chat, archived: z.boolean() });
const chatPinArgs = z.object({ chat, pinned: z.boolean() });
const muteArgs = z.object({ chat, until: z.number().nullable() });
const checkArgs = z.object({ phones: z.array(phoneNumber) });
const blockArgs = z.object({ jid: z.string(), blocked: z.boolean() });

export const deviceCalls = {
  label_edit(world, session, args) {
    const { label_id, name, color, deleted, is_new } = labelArgs.parse(args);
    const phone = phoneOfSession(session);
    const known = labelOf(phone, label_id);
    if (is_new && known) throw new CallRefused('slot_taken');
    if (is_new && freeSlot(phone) === null) throw new CallRefused('label_limit');
    if (!is_new && !known) throw new CallRefused('label_not_found');
    return {
      revision: changeDevice(world, phone, { kind: 'label', labelId: label_id, name, color, deleted }),
    };
  },

  label_chat(world, session, args) {
    const { label_id, chat, associated } = labelChatArgs.parse(args);
    const phone = phoneWithLabel(session, label_id);
    return {
      revision: changeDevice(world, phone, { kind: 'label_chat', labelId: label_id, chat, associated }),
    };
  },

  label_message(world, session, args) {
    const { label_id, chat, target, associated } = labelMessageArgs.parse(args);
    const phone = phoneWithLabel(session, label_id);
    if (!findTarget(world, phone, chat, target)) throw new CallRefused('message_not_found');
    const change = { kind: 'label_message', labelId: label_id, chat, target, associated } as const;
    return { revision: changeDevice(world, phone, change) };
  },

  chat_read(world, session, args) {
    const { chat, read, message_ids } = readArgs.parse(args);
    const phone = phoneOfSession(session);
    for (const id of read ? message_ids : []) {
      const message = findTarget(world, phone, chat, { id });
      if (!message || message.from === phone) continue;
      // The driver refers to messages its sink recorded; their ack may still be in transit.
      arriveAtInstance(world, phone, message);
      readMessage(world, phone, message);
    }
    return { revision: changeDevice(world, phone, { kind: 'chat', chat, read }) };
  },

  chat_archive(world, session, args) {
    const { chat, archived } = archiveArgs.parse(args);
    return { revision: changeDevice(world, phoneOfSession(session), { kind: 'chat', chat, archived }) };
  },

  chat_pin(world, session, args) {
    const { chat, pinned } = chatPinArgs.parse(args);
    const phone = phoneOfSession(session);
    if (pinned && hasAllPins(phone, chat)) throw new CallRefused('too_many_pins');
    return { revision: changeDevice(world, phone, { kind: 'chat', chat, pinned }) };
  },

  chat_mute(world, session, args) {
    const { chat, until: mutedUntil } = muteArgs.parse(args);
    return { revision: changeDevice(world, phoneOfSession(session), { kind: 'chat', chat, mutedUntil }) };
  },

  /** Every number that was created, wrote or was written to has an account. */
  contacts_check(world, _session, args) {
    return checkArgs.parse(args).phones.map((number) => {
      const known = world.phones.get(number);
      return {
        phone: number,
        exists: known !== undefined,
        jid: known?.jid ?? null,
        is_business: known?.business ?? false,
      };
    });
  },

  contact_block(world, session, args) {
    const { jid, blocked } = blockArgs.parse(args);
    const phone = phoneOfSession(session);
    if (phoneOf(jid)) return { revision: changeBlock(world, phone, phoneForJid(world, jid).phone, blocked) };
    return { revision: changeDevice(world, phone, { kind: 'blocked', jid, blocked }) };
  },
} satisfies Record<string, Call>;

function phoneOfSession(session: Session): Phone {
  if (!session.account) throw new CallRefused('not_paired');
  return session.account.phone;
}

function phoneWithLabel(session: Session, label: string): Phone {
  const phone = phoneOfSession(session);
  if (!labelOf(phone, label)) throw new CallRefused('label_not_found');
  return phone;
}
