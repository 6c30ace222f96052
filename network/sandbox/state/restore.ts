/** Brings the network back from its journal, and makes the journal small again when it has grown. */
import { statSync } from 'node:fs';
import type { NetworkEvent } from '../frames.ts';
import { addAccount } from './accounts.ts';
import { catchUp } from './change-phone.ts';
import { deliver } from './deliver.ts';
import { replayJournal, rewriteJournal } from './journal.ts';
import { phoneFor, phoneForJid } from './phones.ts';
import { advance } from './receipts.ts';
import { accountRecord, type JournalRecord, messageRecord, phoneRecord } from './records.ts';
import { type Account, type Message, unmarked, type World } from './world.ts';

/**
 * Reads the journal into an empty world. Compacts it when it is larger than `compactAboveBytes` and
 * at least half of it is history: only here, because a running network must not stand still for it.
 */
export async function restoreWorld(world: World, path: string, compactAboveBytes: number): Promise<void> {
  const lines = await replayJournal(path, (record) => applyRecord(world, record));
  settleMessages(world);
  if (lines === 0 || statSync(path).size <= compactAboveBytes) return;
  let needed = 0;
  for (const _ of snapshot(world)) needed++;
  if (needed * 2 <= lines) rewriteJournal(path, snapshot(world));
}

/** What went on in memory when the journal was left: arrivals, reads, deliveries under way. */
export function resumeWorld(world: World): void {
  const queued = new Set<Message>();
  for (const account of world.accountsByToken.values()) {
    for (const { message } of account.events.all()) if (message) queued.add(message);
  }
  for (const message of messagesInOrder(world)) {
    const recipient = phoneForJid(world, message.to);
    if (message.status === 'sent' && !queued.has(message)) deliver(world, recipient, message);
  }
  for (const phone of world.phones.values()) catchUp(world, phone);
}

function applyRecord(world: World, record: JournalRecord): void {
  switch (record[0]) {
    case 'defaults':
      world.defaults = record[1];
      return;
    case 'phone':
      Object.assign(phoneFor(world, record[1]), record[2]);
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
    case 'epoch':
      accountOf(world, record[1]).epoch = record[2];
      return;
    case 'message':
      applyMessage(world, record);
      return;
    case 'again':
      world.ledger.addDuplicate(messageOf(world, record[1], record[2]));
      return;
    case 'refused':
      world.ledger.addRefusal(phoneFor(world, record[1]).jid);
      return;
    case 'event':
      applyEvent(world, accountOf(world, record[1]), record[2]);
      return;
    case 'acked':
      accountOf(world, record[1]).events.ack(record[2]);
      return;
    case 'status':
      advance(messageOf(world, record[1], record[2]), record[3]);
      return;
    default:
      throw new Error(`the sandbox journal holds an unknown record: ${String((record as unknown[])[0])}`);
  }
}

function applyMessage(world: World, [, record]: Extract<JournalRecord, ['message', unknown]>): void {
  const from = phoneFor(world, record.from);
  const message: Message = {
    id: record.id,
    from,
    to: phoneForJid(world, record.to).jid,
    type: record.type,
    content: record.content,
    quotedId: record.quoted,
    at: record.at,
    seq: 0,
    timesSeen: record.seen ?? 1,
    status: record.status ?? 'sent',
    automatic: record.auto === 1,
    marks: unmarked,
  };
  from.sent.set(message.id, message);
  if (record.ledger === 1) world.ledger.add(message);
}

function applyEvent(world: World, account: Account, event: NetworkEvent): void {
  let message: Message | null = null;
  if (event.k === 'message') {
    message = phoneForJid(world, event.from).sent.get(event.id) ?? null;
    if (!message) throw new Error('the sandbox journal queued a message that it did not make');
  } else {
    advance(messageOf(world, account.phone.phone, event.id), event.k);
  }
  account.events.push({ seq: event.s, json: JSON.stringify(event), message });
}

/** Puts the messages back on the screens they were on. */
function settleMessages(world: World): void {
  for (const message of messagesInOrder(world)) {
    message.from.messages.push(message);
    const recipient = phoneForJid(world, message.to);
    if (message.status === 'sent' || recipient === message.from) continue;
    recipient.messages.push(message);
    if (message.status === 'delivered') recipient.unread.add(message);
  }
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
  for (const phone of world.phones.values()) yield phoneRecord(phone);
  for (const message of messagesInOrder(world)) yield messageRecord(message);
  for (const [jid, sender] of world.ledger.summary().senders) {
    for (let i = 0; i < sender.refused; i++) yield ['refused', phoneForJid(world, jid).phone];
  }
  for (const account of world.accountsByToken.values()) {
    yield accountRecord(account);
    for (const { json } of account.events.all()) {
      yield ['event', account.phone.phone, JSON.parse(json) as NetworkEvent];
    }
  }
}

function accountOf(world: World, phone: string): Account {
  const account = world.phones.get(phone)?.account;
  if (!account) throw new Error('the sandbox journal speaks of an account that it did not make');
  return account;
}

function messageOf(world: World, sender: string, id: string): Message {
  const message = world.phones.get(sender)?.sent.get(id);
  if (!message) throw new Error('the sandbox journal speaks of a message that it did not make');
  return message;
}
