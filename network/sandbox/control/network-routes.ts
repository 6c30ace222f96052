/** A tester's actions on the network itself, and queries about it. */
import { isGroupJid, jidOfPhone } from '@posthorn/contract/jid.ts';
import { z } from 'zod/v4';
import { FAULT_KINDS, faultOrder } from '../faults/fault.ts';
import type { Fault } from '../faults/fault-book.ts';
import { clearFaults, orderFault } from '../faults/order-fault.ts';
import { phoneNumber } from '../phone-number.ts';
import { completePairing, type PairingDesk } from '../sessions/pairing.ts';
import { makeGroup } from '../state/groups.ts';
import type { Account, Message, Session } from '../state/model.ts';
import { pushRawEvent } from '../state/receipts.ts';
import type { World } from '../state/world.ts';
import { ControlError, parseWith, type Route } from './http.ts';
import { shownGroup } from './shown.ts';

const pairBody = z.union(
  [z.object({ qr: z.string(), phone: phoneNumber }), z.object({ code: z.string(), phone: phoneNumber })],
  { error: 'needs phone, and either qr or code' },
);

const groupBody = z.object({
  jid: z.string().refine(isGroupJid, 'must be a group JID').optional(),
  name: z.string().min(1).max(255),
  participants: z.array(phoneNumber).default([]),
  /** Admins are participants too. */
  admins: z.array(phoneNumber).default([]),
  description: z.string().max(4096).optional(),
  announce: z.boolean().optional(),
  locked: z.boolean().optional(),
  /** Maximum participants; only for a new group. */
  capacity: z.int().min(1).max(1024).optional(),
});

const ledgerFilter = z.object({
  phone: phoneNumber.transform(jidOfPhone).optional(),
  from: phoneNumber.transform(jidOfPhone).optional(),
  to: phoneNumber.transform(jidOfPhone).optional(),
});

const ledgerQuery = ledgerFilter.extend({
  /** Entries after this seq. */
  after: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(50_000).default(1000),
});

const rawBody = z.object({ account: phoneNumber, event: z.record(z.string(), z.unknown()) });

const faultFilter = z.object({
  id: z.coerce.number().int().optional(),
  kind: z.enum(FAULT_KINDS).optional(),
  instance: z.string().optional(),
  account: phoneNumber.optional(),
  phone: phoneNumber.optional(),
});

export function networkRoutes(world: World, desk: PairingDesk, sessions: ReadonlySet<Session>): Route[] {
  return [
    { method: 'GET', path: '/health', handle: () => ({ status: 'ok', service: 'sandbox' }) },
    {
      method: 'GET',
      path: '/sessions',
      handle: () => ({
        connections: sessions.size,
        accounts: [...world.accountsByToken.values()].map(shownAccount),
      }),
    },
    ...peopleRoutes(world, desk),
    ...ledgerRoutes(world),
    ...faultRoutes(world, sessions),
  ];
}

function peopleRoutes(world: World, desk: PairingDesk): Route[] {
  return [
    {
      method: 'POST',
      path: '/pair',
      handle({ body }) {
        const order = parseWith(pairBody, body);
        const session = 'qr' in order ? desk.byQr(order.qr) : sessionByCode(desk, order);
        if (!session)
          throw new ControlError(404, 'PAIRING_NOT_FOUND', 'this QR or code is unknown or expired');
        completePairing(world, session, order.phone);
        return { phone: order.phone, jid: jidOfPhone(order.phone), instance: session.instanceId };
      },
    },
    {
      method: 'POST',
      path: '/groups',
      handle({ body }) {
        const facts = parseWith(groupBody, body);
        const isNew = !facts.jid || !world.groups.has(facts.jid);
        return [isNew ? 201 : 200, shownGroup(makeGroup(world, facts))];
      },
    },
    {
      method: 'GET',
      path: '/groups/:jid',
      handle({ params }) {
        const group = world.groups.get(params.jid!);
        if (!group) throw new ControlError(404, 'GROUP_NOT_FOUND', 'nobody made this group');
        return shownGroup(group);
      },
    },
  ];
}

function ledgerRoutes(world: World): Route[] {
  return [
    {
      method: 'GET',
      path: '/ledger',
      handle({ query }) {
        const { after, limit, ...filter } = parseWith(ledgerQuery, query);
        const found = world.ledger.find(filter);
        const start = firstAfter(found, after);
        const page = found.slice(start, start + limit);
        const isLast = start + page.length >= found.length;
        return {
          entries: page.map(shownEntry),
          total: found.length,
          next_after: isLast ? null : page.at(-1)!.seq,
        };
      },
    },
    {
      method: 'GET',
      path: '/ledger/summary',
      handle({ query }) {
        const filter = parseWith(ledgerFilter, query);
        if (filter.phone || filter.from || filter.to) return countEntries(world.ledger.find(filter));
        const { senders, ...totals } = world.ledger.summary();
        return { ...totals, senders: Object.fromEntries(senders) };
      },
    },
  ];
}

function faultRoutes(world: World, sessions: ReadonlySet<Session>): Route[] {
  return [
    {
      method: 'POST',
      path: '/faults',
      handle({ body }) {
        const { fault, injected } = orderFault(world, sessions, parseWith(faultOrder, body));
        return [201, { ...shownFault(fault), struck: injected }];
      },
    },
    {
      // Sends an event unchanged, in order with the others: anything a broken or hostile network might send.
      method: 'POST',
      path: '/events',
      handle({ body }) {
        const { account: phone, event } = parseWith(rawBody, body);
        const account = world.phones.get(phone)?.account;
        if (!account) throw new ControlError(404, 'NOT_PAIRED', 'no instance is paired with this phone');
        return [201, { seq: pushRawEvent(world, account, event) }];
      },
    },
    { method: 'GET', path: '/faults', handle: () => ({ faults: world.faults.list().map(shownFault) }) },
    {
      method: 'DELETE',
      path: '/faults',
      handle({ query }) {
        const { id, ...given } = parseWith(faultFilter, query);
        const fields = Object.entries(given).filter(([, value]) => value !== undefined);
        const matches = (fault: Fault) =>
          (id === undefined || fault.id === id) &&
          fields.every(([key, value]) => (fault.order as Record<string, unknown>)[key] === value);
        return { cleared: clearFaults(world, matches) };
      },
    },
  ];
}

function sessionByCode(
  desk: PairingDesk,
  { code, phone }: { code: string; phone: string },
): Session | undefined {
  const entry = desk.byCode(code);
  if (entry && entry.phone !== phone) {
    throw new ControlError(400, 'CODE_FOR_OTHER_PHONE', 'this code was asked for with another phone number');
  }
  return entry?.session;
}

/** Index of the first entry past seq `after`, by bisection: pages of a long ledger stay cheap. */
function firstAfter(entries: readonly Message[], after: number): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (entries[middle]!.seq <= after) low = middle + 1;
    else high = middle;
  }
  return low;
}

function shownEntry(message: Message) {
  return {
    seq: message.seq,
    network_id: message.id,
    from: message.from.jid,
    to: message.to,
    type: message.type,
    time: new Date(message.at).toISOString(),
    times_seen: message.timesSeen,
  };
}

/** Refused envelopes are only known by sender, so a filtered count excludes them. */
function countEntries(entries: readonly Message[]) {
  const senders: Record<string, { received: number; duplicates: number }> = {};
  let duplicates = 0;
  for (const { from, timesSeen } of entries) {
    senders[from.jid] ??= { received: 0, duplicates: 0 };
    const sender = senders[from.jid]!;
    sender.received++;
    sender.duplicates += timesSeen - 1;
    duplicates += timesSeen - 1;
  }
  return { total: entries.length, duplicates, senders };
}

function shownAccount({ phone, instanceId, epoch, session, connections, events, stats }: Account) {
  return {
    phone: phone.phone,
    jid: phone.jid,
    instance: instanceId,
    epoch,
    live: session ? 1 : 0,
    /** Connections that logged in and are not closed yet, including kicked ones. */
    connected: connections.size,
    /** 2 if a login ever found another session live. */
    max_live: stats.maxLive,
    logins: stats.logins,
    kicks: stats.kicks,
    refused_stale_epoch: stats.staleLogins,
    unacked_events: events.size(),
  };
}

function shownFault({ id, order, hits }: Fault) {
  return { id, ...order, hits };
}
