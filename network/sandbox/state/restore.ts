/** Brings the network back from its journal, and makes the journal small again when it has grown. */
import { statSync } from 'node:fs';
import { STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import { families } from '../families/registry.ts';
import type { NetworkEvent } from '../frames.ts';
import { addAccount } from './accounts.ts';
import { catchUp } from './change-phone.ts';
import { deliver } from './deliver.ts';
import { applyDeviceFact, deviceFacts } from './device-state.ts';
import { keepMessage } from './forget.ts';
import { GROUP_CAPACITY, newInviteCode } from './groups.ts';
import { replayJournal, rewriteJournal } from './journal.ts';
import { type Account, type Message, type Phone, unmarked } from './model.ts';
import { phoneFor, phoneForJid } from './phones.ts';
import { advance } from './receipts.ts';
import { isShared, reachedBy, recipientsOf } from './recipients.ts';
import { accountRecord, groupRecord, type JournalRecord, messageRecord, phoneRecord } from './records.ts';
import { markStar } from './star.ts';
import type { World } from './world.ts';

/**
 * Reads the journal into an empty world. Compacts it when it is larger than `compactAboveBytes` and at least half of it
 * is history: only here, because a running network must not stop for it.
 */
export async function restoreWorld(world: World, path: string, compactAboveBytes: number): Promise<void> {
  const lines = await replayJournal(path, (record) => applyRecord(world, record));
  settleMessages(world);
  if (lines === 0 || statSync(path).size <= compactAboveBytes) return;
  let needed = 0;
  for (const _ of snapshot(world)) needed++;
  if (needed * 2 <= lines) rewriteJournal(path, snapshot(world));
}

/** Resumes the work that was in memory when the journal ended: arrivals, reads, deliveries under way. */
export function resumeWorld(world: World): void {
  const queued = new Set<Message>();
  for (const account of world.accountsByToken.values()) {
    for (const { message } of account.events.all()) if (message) queued.add(message);
  }
  for (const message of messagesInOrder(world)) {
    for (const recipient of recipientsOf(world, message)) {
      if (reachedBy(message, recipient) === 'sent' && !queued.has(message))
        deliver(world, recipient, message);
    }
  }
  for (const phone of world.phones.values()) catchUp(world, phone);
}

function applyRecord(world: World, record: JournalRecord): void {
  switch (record[0]) {
    case 'defaults':
      world.defaults = record[1];
      return;
    case 'phone':
      applyPhone(world, phoneFor(world, record[1]), record[2]);
      return;
    case 'group':
      applyGroup(world, record[1]);
      return;
    case 'account':
      addAccount(world, phoneFor(world, record[1]), record[2]);
      return;
    case 'unpaired': {
      const phone = phoneFor(world, record[1]);
      if (phone.account) world.accountsByToken.delete(phone.account.token);
      phone.account = null;
      return;
    }
    case 'push_name':
      accountOf(world, record[1]).pushName = record[2];
      return;
    case 'epoch':
      accountOf(world, record[1]).epoch = record[2];
      return;
    case 'message':
      applyMessage(world, record);
      return;
    case 'again': {
      const again = messageOf(world, record[1], record[2]);
      if (again) world.ledger.addDuplicate(again);
      return;
    }
    case 'forgot':
      world.kept.forgotten += record[1];
      return;
    case 'counted':
      world.ledger.addForgotten(phoneFor(world, record[1]).jid, {
        received: record[2],
        duplicates: record[3],
      });
      return;
    case 'refused':
      world.ledger.addRefusal(phoneFor(world, record[1]).jid);
      return;
    case 'event':
      applyEvent(world, accountOf(world, record[1]), record[2]);
      return;
    case 'raw':
      accountOf(world, record[1]).events.push({
        seq: record[2].s,
        json: JSON.stringify(record[2]),
        message: null,
        raw: true,
      });
      return;
    case 'acked':
      accountOf(world, record[1]).events.ack(record[2]);
      return;
    case 'status': {
      const message = messageOf(world, record[1], record[2]);
      if (message) advance(message, record[3], phoneFor(world, record[4]));
      return;
    }
    case 'star': {
      const message = messageOf(world, record[2], record[3]);
      if (message) markStar(phoneFor(world, record[1]), message, record[4]);
      return;
    }
    case 'device':
      applyDeviceFact(phoneFor(world, record[1]), record[2], record[3]);
      return;
    default:
      throw new Error(`the sandbox journal holds an unknown record: ${String((record as unknown[])[0])}`);
  }
}

function applyMessage(world: World, [, record]: Extract<JournalRecord, ['message', unknown]>): void {
  const from = phoneFor(world, record.from);
  const reached = record.reached?.map(([phone, status]) => [phoneFor(world, phone), status] as const);
  const message: Message = {
    id: record.id,
    from,
    to: isShared(record.to) ? record.to : phoneForJid(world, record.to).jid,
    type: record.type,
    content: record.content,
    quotedId: record.quoted,
    at: record.at,
    seq: 0,
    timesSeen: record.seen ?? 1,
    status: record.status ?? 'sent',
    reached: isShared(record.to) ? new Map(reached) : null,
    forwarded: record.fwd ?? 0,
    automatic: record.auto === 1,
    marks: unmarked,
  };
  from.sent.set(message.id, message);
  if (record.ledger === 1) world.ledger.add(message, record.seq);
  keepMessage(world, message);
}

function applyEvent(world: World, account: Account, event: NetworkEvent): void {
  let message: Message | null = null;
  if (event.k === 'message' || event.k === 'edited' || event.k === 'deleted') {
    // Its own phone has what it sent.
    if (!event.from_me)
      message = messageOf(
        world,
        phoneForJid(world, event.from).phone,
        event.k === 'message' ? event.id : event.env,
      );
  } else if ('by' in event) {
    const told = messageOf(world, account.phone.phone, event.id);
    if (told) advance(told, event.k, phoneForJid(world, event.by));
  }
  account.events.push({ seq: event.s, json: JSON.stringify(event), message });
}

/** Puts the messages back on the screens they were on, and does again what was done to them. */
function settleMessages(world: World): void {
  for (const message of messagesInOrder(world)) {
    const act = families.get(message.type)?.act;
    if (act) {
      act(world, message);
      continue;
    }
    message.from.messages.push(message);
    for (const recipient of recipientsOf(world, message)) {
      const reached = reachedBy(message, recipient);
      if (reached === 'sent' || recipient === message.from) continue;
      recipient.messages.push(message);
      if (reached === 'delivered' && message.to !== STATUS_BROADCAST) recipient.unread.add(message);
    }
  }
}

function applyPhone(
  world: World,
  phone: Phone,
  record: Extract<JournalRecord, ['phone', ...unknown[]]>[2],
): void {
  phone.name = record.name;
  phone.business = record.business;
  phone.own = record.own;
  replace(phone.contacts, record.contacts ?? []);
  replace(phone.blocked, record.blocked ?? []);
  phone.statusPrivacy = record.privacy ?? { type: 'contacts', list: [] };
  phone.about = record.about ?? '';
  phone.picture = record.picture ?? null;
  phone.lid = record.lid ?? null;
  if (phone.lid) world.lids.set(phone.lid.jid, phone);
  phone.storefront = record.storefront ?? null;
}

function applyGroup(world: World, record: Extract<JournalRecord, ['group', unknown]>[1]): void {
  const phones = (numbers: readonly string[]) => new Set(numbers.map((number) => phoneFor(world, number)));
  world.groups.set(record.jid, {
    jid: record.jid,
    name: record.name,
    description: record.description ?? '',
    owner: record.owner === undefined ? null : phoneFor(world, record.owner),
    createdAt: record.at ?? 0,
    announce: record.announce ?? false,
    locked: record.locked ?? false,
    code: record.code ?? newInviteCode(),
    capacity: record.capacity ?? GROUP_CAPACITY,
    participants: phones(record.participants),
    admins: phones(record.admins),
  });
}

function replace<T>(set: Set<T>, values: readonly T[]): void {
  set.clear();
  for (const value of values) set.add(value);
}

/** The ledger's order is exact; what virtual phones sent is merged in by time. */
function* messagesInOrder(world: World): Generator<Message> {
  const fromPhones: Message[] = [];
  for (const phone of world.phones.values()) {
    for (const message of phone.sent.values()) if (message.seq === 0) fromPhones.push(message);
  }
  fromPhones.sort((a, b) => a.at - b.at);
  let next = 0;
  for (const message of world.ledger.find({})) {
    while (next < fromPhones.length && fromPhones[next]!.at <= message.at) yield fromPhones[next++]!;
    yield message;
  }
  yield* fromPhones.slice(next);
}

/** The least that rebuilds the same world. */
function* snapshot(world: World): Generator<JournalRecord> {
  yield ['defaults', world.defaults];
  for (const phone of world.phones.values()) {
    yield phoneRecord(phone);
    for (const { at, ...fact } of deviceFacts(phone)) yield ['device', phone.phone, fact, at];
  }
  for (const group of world.groups.values()) yield groupRecord(group);
  if (world.kept.forgotten > 0) yield ['forgot', world.kept.forgotten];
  for (const jid of world.ledger.summary().senders.keys()) {
    const { received, duplicates } = world.ledger.forgottenOf(jid);
    if (received > 0) yield ['counted', phoneForJid(world, jid).phone, received, duplicates];
  }
  for (const message of messagesInOrder(world)) {
    yield messageRecord(message, { withPlace: world.kept.forgotten > 0 });
    for (const number of message.marks.starredBy) {
      yield ['star', number, message.from.phone, message.id, true];
    }
  }
  for (const [jid, sender] of world.ledger.summary().senders) {
    for (let i = 0; i < sender.refused; i++) yield ['refused', phoneForJid(world, jid).phone];
  }
  for (const account of world.accountsByToken.values()) {
    yield accountRecord(account);
    for (const { json, raw } of account.events.all()) {
      yield [raw ? 'raw' : 'event', account.phone.phone, JSON.parse(json) as NetworkEvent];
    }
  }
}

function accountOf(world: World, phone: string): Account {
  const account = world.phones.get(phone)?.account;
  if (!account) throw new Error('the sandbox journal speaks of an account that it did not make');
  return account;
}

/** Null for one that was forgotten. */
function messageOf(world: World, sender: string, id: string): Message | null {
  const message = world.phones.get(sender)?.sent.get(id);
  if (!message && world.kept.forgotten > 0) return null;
  if (!message) throw new Error('the sandbox journal speaks of a message that it did not make');
  return message;
}
