/** Actions of a virtual phone: sending, reading, playing, viewing statuses. */
import { STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import { z } from 'zod/v4';
import { families } from '../families/registry.ts';
import { phoneNumber } from '../phone-number.ts';
import { openMessage, readMessage } from '../state/deliver.ts';
import { changeDevice } from '../state/device.ts';
import type { Message, Phone } from '../state/model.ts';
import { phoneFor } from '../state/phones.ts';
import { recordReceipt } from '../state/receipts.ts';
import { chatOf, reachedBy } from '../state/recipients.ts';
import type { World } from '../state/world.ts';
import { ControlError, parseWith, type Route } from './http.ts';
import { inChat, knownPhone } from './phone-routes.ts';
import { sendFromPhone } from './send-from-phone.ts';
import { shownMessage } from './shown.ts';

const chosenBody = z.object({ chat: z.string().optional(), ids: z.array(z.string()).optional() });

export function phoneActions(world: World): Route[] {
  return [
    {
      method: 'POST',
      path: '/phones/:phone/messages',
      handle({ params, body }) {
        const from = phoneFor(world, parseWith(phoneNumber, params.phone));
        return [201, shownMessage(from, sendFromPhone(world, from, body))];
      },
    },
    {
      method: 'POST',
      path: '/phones/:phone/read',
      handle({ params, body }) {
        const phone = knownPhone(world, params.phone!);
        const { chat, ids } = parseWith(chosenBody, body);
        const found = chosen(phone, ids ? phone.messages : [...phone.unread], { chat, ids });
        const read = found.filter((message) => readMessage(world, phone, message));
        // Its other devices are told of read chats, not of read messages.
        for (const chat of new Set(read.map((message) => chatOf(phone, message)))) {
          if (!hasUnread(phone, chat)) changeDevice(world, phone, { kind: 'chat', chat, read: true });
        }
        return { read: read.length };
      },
    },
    {
      method: 'POST',
      path: '/phones/:phone/play',
      handle({ params, body }) {
        const phone = knownPhone(world, params.phone!);
        const playable = phone.messages.filter((message) => message.from !== phone && isPlayed(message));
        const found = chosen(phone, playable, parseWith(chosenBody, body));
        return { played: found.filter((message) => openMessage(world, phone, message)).length };
      },
    },
    {
      method: 'POST',
      path: '/phones/:phone/view-status',
      handle({ params, body }) {
        const phone = knownPhone(world, params.phone!);
        const { ids } = parseWith(chosenBody, body);
        const statuses = phone.messages.filter(
          (message) => message.to === STATUS_BROADCAST && message.from !== phone,
        );
        const found = chosen(phone, statuses, { chat: undefined, ids });
        return { viewed: found.filter((message) => viewStatus(world, phone, message)).length };
      },
    },
  ];
}

function hasUnread(phone: Phone, chat: string): boolean {
  return [...phone.unread].some((message) => chatOf(phone, message) === chat);
}

function isPlayed(message: Message): boolean {
  return families.get(message.type)?.opened?.(message.content) === 'played';
}

/** True if it was not viewed before. A status with sound or motion counts as played, others as read. */
function viewStatus(world: World, phone: Phone, message: Message): boolean {
  if (reachedBy(message, phone) !== 'delivered') return false;
  recordReceipt(world, message, isPlayed(message) ? 'played' : 'read', phone);
  return true;
}

function chosen(
  phone: Phone,
  messages: readonly Message[],
  { chat, ids }: z.output<typeof chosenBody>,
): readonly Message[] {
  const found = inChat(phone, messages, chat).filter((message) => !ids || ids.includes(message.id));
  if (ids && found.length < new Set(ids).size) {
    throw new ControlError(404, 'MESSAGE_NOT_FOUND', 'this phone does not show all of these messages');
  }
  return found;
}
