/** What a tester does with a virtual phone. */
import { parseRecipient } from '@posthorn/contract/jid.ts';
import { z } from 'zod/v4';
import { families } from '../families/registry.ts';
import { changeDefaults, changePhone } from '../state/change-phone.ts';
import { newNetworkId, readMessage, takeMessage } from '../state/deliver.ts';
import { phoneFor } from '../state/phones.ts';
import type { Message, Phone, World } from '../state/world.ts';
import { ControlError, parseWith, type Route } from './http.ts';
import { phoneNumber } from './phone-number.ts';
import { shownMessage, shownPhone } from './shown.ts';

const delayMs = z.int().min(0).max(3_600_000);

const settings = {
  online: z.boolean().optional(),
  auto_read: z.boolean().optional(),
  read_delay_ms: delayMs.optional(),
  delivery_delay_ms: delayMs.optional(),
  read_receipts: z.boolean().optional(),
  auto_reply: z.string().min(1).nullable().optional(),
};

const phoneBody = z.object({
  phone: phoneNumber,
  name: z.string().min(1).max(255).optional(),
  business: z.boolean().optional(),
  ...settings,
});

const sendBody = z.looseObject({
  to: z.string(),
  type: z.string().default('text'),
  quoted_id: z.string().optional(),
  /** The network id; drawn when absent. The same one again is the message that is already there. */
  id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/)
    .optional(),
});

const listQuery = z.object({
  chat: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(10_000).default(1000),
});

const readBody = z.object({ chat: z.string().optional(), ids: z.array(z.string()).optional() });

export function phoneRoutes(world: World): Route[] {
  return [
    {
      method: 'POST',
      path: '/phones',
      handle({ body }) {
        const { phone, ...change } = parseWith(phoneBody, body);
        const isNew = !world.phones.has(phone);
        return [isNew ? 201 : 200, shownPhone(world, changePhone(world, phone, definedOnly(change)))];
      },
    },
    {
      method: 'POST',
      path: '/defaults',
      handle({ body }) {
        changeDefaults(world, definedOnly(parseWith(z.object(settings), body)));
        return world.defaults;
      },
    },
    {
      method: 'GET',
      path: '/phones/:phone',
      handle: ({ params }) => shownPhone(world, knownPhone(world, params.phone!)),
    },
    {
      method: 'GET',
      path: '/phones/:phone/messages',
      handle({ params, query }) {
        const phone = knownPhone(world, params.phone!);
        const { chat, limit } = parseWith(listQuery, query);
        const shown = inChat(phone, phone.messages, chat);
        return {
          messages: shown.slice(-limit).map((message) => shownMessage(phone, message)),
          total: shown.length,
        };
      },
    },
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
        const { chat, ids } = parseWith(readBody, body);
        const found = inChat(phone, ids ? phone.messages : [...phone.unread], chat).filter(
          (message) => !ids || ids.includes(message.id),
        );
        if (ids && found.length < new Set(ids).size) {
          throw new ControlError(404, 'MESSAGE_NOT_FOUND', 'this phone does not show all of these messages');
        }
        return { read: found.filter((message) => readMessage(world, phone, message)).length };
      },
    },
  ];
}

function sendFromPhone(world: World, from: Phone, body: unknown): Message {
  const { to, type, id, quoted_id: quotedId, ...rest } = parseWith(sendBody, body);
  const family = families.get(type);
  if (!family) {
    throw new ControlError(400, 'BAD_REQUEST', `type: must be one of ${[...families.keys()].join(', ')}`);
  }
  const content = parseWith(family.phoneBody, rest);
  const recipient = parseWith(phoneNumber, to);
  const { message } = takeMessage(
    world,
    { id: id ?? newNetworkId(), from, to: phoneFor(world, recipient).jid, type, content, quotedId },
    { ledger: false },
  );
  return message;
}

function knownPhone(world: World, text: string): Phone {
  const phone = world.phones.get(parseWith(phoneNumber, text));
  if (!phone) throw new ControlError(404, 'PHONE_NOT_FOUND', 'nobody made or wrote to this phone yet');
  return phone;
}

function inChat(phone: Phone, messages: readonly Message[], chat: string | undefined): readonly Message[] {
  if (chat === undefined) return messages;
  const parsed = parseRecipient(chat);
  if ('error' in parsed) throw new ControlError(400, 'BAD_REQUEST', 'chat: must be a phone number or a JID');
  return messages.filter(
    (message) => (message.from === phone ? message.to : message.from.jid) === parsed.jid,
  );
}

/** Absent fields leave what was; with them as undefined they would erase it. */
function definedOnly<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never;
}
