/** Shows and changes a virtual phone's settings; phone-actions.ts has its actions. */
import { parseRecipient, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import { z } from 'zod/v4';
import { phoneNumber } from '../phone-number.ts';
import { changeBlock, changeContacts, changeDefaults, changePhone } from '../state/change-phone.ts';
import type { Message, Phone } from '../state/model.ts';
import { phoneFor } from '../state/phones.ts';
import { chatOf } from '../state/recipients.ts';
import type { World } from '../state/world.ts';
import { ControlError, parseWith, type Route } from './http.ts';
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
  status_privacy: z
    .object({ type: z.enum(['contacts', 'blacklist', 'whitelist']), list: z.array(phoneNumber).default([]) })
    .optional(),
  about: z.string().max(512).optional(),
  /** Gives the phone an anonymous id in groups and statuses; the value is when its number is revealed. */
  lid: z.enum(['at_once', 'later', 'never']).nullable().optional(),
  ...settings,
});

const listQuery = z.object({
  chat: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(10_000).default(1000),
});

const contactsBody = z.object({
  add: z.array(phoneNumber).default([]),
  remove: z.array(phoneNumber).default([]),
  /** The name under which the phones in `add` are saved; default: their own. */
  name: z.string().min(1).max(255).optional(),
  /** The phones in `add` also save this phone, and those in `remove` remove it. */
  mutual: z.boolean().default(false),
});

const blockBody = z.object({ phone: phoneNumber, blocked: z.boolean().default(true) });

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
      path: '/phones/:phone/contacts',
      handle({ params, body }) {
        const phone = phoneFor(world, parseWith(phoneNumber, params.phone));
        const { mutual, ...change } = parseWith(contactsBody, body);
        changeContacts(world, phone, change);
        if (mutual) {
          const self = [phone.phone];
          for (const number of change.add)
            changeContacts(world, phoneFor(world, number), { add: self, remove: [] });
          for (const number of change.remove)
            changeContacts(world, phoneFor(world, number), { add: [], remove: self });
        }
        return { contacts: [...phone.contacts] };
      },
    },
    {
      method: 'POST',
      path: '/phones/:phone/block',
      handle({ params, body }) {
        const phone = phoneFor(world, parseWith(phoneNumber, params.phone));
        const order = parseWith(blockBody, body);
        changeBlock(world, phone, order.phone, order.blocked);
        return { blocked: [...phone.blocked] };
      },
    },
  ];
}

export function knownPhone(world: World, text: string): Phone {
  const phone = world.phones.get(parseWith(phoneNumber, text));
  if (!phone) throw new ControlError(404, 'PHONE_NOT_FOUND', 'nobody made or wrote to this phone yet');
  return phone;
}

/** The messages of one chat, or all of them. */
export function inChat(
  phone: Phone,
  messages: readonly Message[],
  chat: string | undefined,
): readonly Message[] {
  if (chat === undefined) return messages;
  const parsed = chat === STATUS_BROADCAST ? { jid: chat } : parseRecipient(chat);
  if ('error' in parsed) throw new ControlError(400, 'BAD_REQUEST', 'chat: must be a phone number or a JID');
  return messages.filter((message) => chatOf(phone, message) === parsed.jid);
}

/** Absent fields keep their value; passed as undefined they would erase it. */
function definedOnly<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never;
}
