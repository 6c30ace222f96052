/** A tester's changes of a phone that its account's other devices are told of: labels, chat states. */
import { parseRecipient } from '@posthorn/contract/jid.ts';
import { LABEL_COLOR_MAX } from '@posthorn/contract/limits.ts';
import { z } from 'zod/v4';
import { phoneNumber } from '../phone-number.ts';
import { changeDevice } from '../state/device.ts';
import { chatStatesOf, freeSlot, hasAllPins, labelOf, labelsOf, linksOf } from '../state/device-state.ts';
import type { Message, Phone } from '../state/model.ts';
import { phoneFor } from '../state/phones.ts';
import { chatOf } from '../state/recipients.ts';
import type { World } from '../state/world.ts';
import { ControlError, parseWith, type Route } from './http.ts';

const labelBody = z.object({
  label_id: z.coerce.string().min(1).max(16).optional(),
  name: z.string().max(255).optional(),
  color: z.int().min(0).max(LABEL_COLOR_MAX).optional(),
  deleted: z.boolean().default(false),
});
const putBody = z.object({
  label_id: z.coerce.string(),
  chat: z.string().optional(),
  message_id: z.string().optional(),
  associated: z.boolean().default(true),
});
const chatBody = z.object({
  chat: z.string(),
  archived: z.boolean().optional(),
  pinned: z.boolean().optional(),
  /** Unix ms; 0 has no end, null unmutes. */
  muted_until: z.number().int().min(0).nullable().optional(),
  read: z.boolean().optional(),
});

export function deviceRoutes(world: World): Route[] {
  return [
    {
      method: 'GET',
      path: '/phones/:phone/labels',
      handle: ({ params }) => shownLabels(phoneFor(world, parseWith(phoneNumber, params.phone))),
    },
    {
      method: 'POST',
      path: '/phones/:phone/label',
      handle({ params, body }) {
        const phone = phoneFor(world, parseWith(phoneNumber, params.phone));
        const labelId = editLabel(world, phone, parseWith(labelBody, body));
        return { label_id: labelId, ...shownLabels(phone) };
      },
    },
    {
      method: 'POST',
      path: '/phones/:phone/put-label',
      handle({ params, body }) {
        const phone = phoneFor(world, parseWith(phoneNumber, params.phone));
        putLabel(world, phone, parseWith(putBody, body));
        return shownLabels(phone);
      },
    },
    {
      method: 'GET',
      path: '/phones/:phone/chats',
      handle: ({ params }) => ({
        chats: chatStatesOf(phoneFor(world, parseWith(phoneNumber, params.phone))),
      }),
    },
    {
      method: 'POST',
      path: '/phones/:phone/chat',
      handle({ params, body }) {
        const phone = phoneFor(world, parseWith(phoneNumber, params.phone));
        const { chat: named, muted_until: mutedUntil, ...said } = parseWith(chatBody, body);
        const chat = jidOf(named);
        if (said.pinned && hasAllPins(phone, chat)) {
          throw new ControlError(409, 'REFUSED', 'too_many_pins');
        }
        changeDevice(world, phone, { kind: 'chat', chat, ...said, mutedUntil });
        return { chats: chatStatesOf(phone) };
      },
    },
  ];
}

/** Creates a label in the first free slot, or changes or deletes the given one. */
function editLabel(world: World, phone: Phone, body: z.output<typeof labelBody>): string {
  const labelId = body.label_id ?? freeSlot(phone);
  if (labelId === null) throw new ControlError(409, 'REFUSED', 'label_limit');
  const known = labelOf(phone, labelId);
  if (body.label_id !== undefined && !known) throw new ControlError(404, 'LABEL_NOT_FOUND', 'no such label');
  changeDevice(world, phone, {
    kind: 'label',
    labelId,
    name: body.name ?? known?.name ?? `Label ${labelId}`,
    color: body.color ?? known?.color ?? 0,
    deleted: body.deleted,
  });
  return labelId;
}

function putLabel(world: World, phone: Phone, body: z.output<typeof putBody>): void {
  const { label_id: labelId, associated, message_id: messageId, chat } = body;
  if (!labelOf(phone, labelId)) throw new ControlError(404, 'LABEL_NOT_FOUND', 'no such label');
  if (messageId !== undefined) {
    const message = phone.messages.find(({ id }) => id === messageId);
    if (!message) throw new ControlError(404, 'MESSAGE_NOT_FOUND', 'this phone does not show this message');
    const change = { kind: 'label_message', labelId, ...namedOn(phone, message), associated } as const;
    changeDevice(world, phone, change);
  } else if (chat !== undefined) {
    changeDevice(world, phone, { kind: 'label_chat', labelId, chat: jidOf(chat), associated });
  } else {
    throw new ControlError(400, 'BAD_REQUEST', 'give chat or message_id');
  }
}

function namedOn(phone: Phone, message: Message) {
  const target = { id: message.id, from_me: message.from === phone, sender: message.from.jid };
  return { chat: chatOf(phone, message), target };
}

function shownLabels(phone: Phone) {
  const links = linksOf(phone);
  return {
    labels: labelsOf(phone).map(({ labelId, name, color }) => ({
      label_id: labelId,
      name,
      color,
      chats: links.flatMap((link) =>
        link.kind === 'label_chat' && link.labelId === labelId ? [link.chat] : [],
      ),
      messages: links.flatMap((link) =>
        link.kind === 'label_message' && link.labelId === labelId ? [link.target.id] : [],
      ),
    })),
  };
}

function jidOf(chat: string): string {
  const parsed = parseRecipient(chat);
  if ('error' in parsed) throw new ControlError(400, 'BAD_REQUEST', 'chat: must be a phone number or a JID');
  return parsed.jid;
}
