/**
 * Every envelope that the network accepted from an instance, once, in order: tests of loss and of duplicates count
 * these. Messages that virtual phones send are not in it. Forgotten messages remain in the summary alone.
 */
import type { Jid } from '@posthorn/contract/jid.ts';
import type { Message } from './model.ts';

interface LedgerFilter {
  /** Sender or recipient. */
  phone?: Jid;
  from?: Jid;
  to?: Jid;
}

interface LedgerSummary {
  total: number;
  /** Envelopes that came again and were dropped. */
  duplicates: number;
  refused: number;
  senders: Map<Jid, { received: number; duplicates: number; refused: number }>;
}

export interface Ledger {
  /** Gives the message a place, the next one unless a journal says which it had, and keeps it. */
  add(message: Message, seq?: number): void;
  addDuplicate(message: Message): void;
  addRefusal(from: Jid): void;
  /** The entries go; they stay counted. */
  forget(messages: ReadonlySet<Message>): void;
  /** How many envelopes and repeats of a sender were forgotten. */
  forgottenOf(from: Jid): { received: number; duplicates: number };
  /** Counts what a journal says was forgotten. */
  addForgotten(from: Jid, counts: { received: number; duplicates: number }): void;
  /** Entries that match, in order. The array is the ledger's own unless a filter asks for two sides. */
  find(filter: LedgerFilter): readonly Message[];
  summary(): LedgerSummary;
}

export function createLedger(): Ledger {
  let all: Message[] = [];
  let lastSeq = 0;
  const byFrom = new Map<Jid, Message[]>();
  const byTo = new Map<Jid, Message[]>();
  const totals: LedgerSummary = { total: 0, duplicates: 0, refused: 0, senders: new Map() };

  function senderOf(jid: Jid) {
    let sender = totals.senders.get(jid);
    if (!sender) {
      sender = { received: 0, duplicates: 0, refused: 0 };
      totals.senders.set(jid, sender);
    }
    return sender;
  }

  return {
    add(message, seq = lastSeq + 1) {
      all.push(message);
      lastSeq = seq;
      message.seq = seq;
      append(byFrom, message.from.jid, message);
      append(byTo, message.to, message);
      totals.total++;
      totals.duplicates += message.timesSeen - 1;
      const sender = senderOf(message.from.jid);
      sender.received++;
      sender.duplicates += message.timesSeen - 1;
    },
    addDuplicate(message) {
      message.timesSeen++;
      totals.duplicates++;
      senderOf(message.from.jid).duplicates++;
    },
    addRefusal(from) {
      totals.refused++;
      senderOf(from).refused++;
    },
    forget(messages) {
      const held = (message: Message) => !messages.has(message);
      all = all.filter(held);
      const [senders, recipients] = [new Set<Jid>(), new Set<Jid>()];
      for (const message of messages) {
        senders.add(message.from.jid);
        recipients.add(message.to);
      }
      for (const jid of senders) keepIn(byFrom, jid, held);
      for (const jid of recipients) keepIn(byTo, jid, held);
    },
    forgottenOf(jid) {
      const { received, duplicates } = senderOf(jid);
      const held = byFrom.get(jid) ?? [];
      return {
        received: received - held.length,
        duplicates: duplicates - held.reduce((sum, { timesSeen }) => sum + timesSeen - 1, 0),
      };
    },
    addForgotten(jid, { received, duplicates }) {
      totals.total += received;
      totals.duplicates += duplicates;
      const sender = senderOf(jid);
      sender.received += received;
      sender.duplicates += duplicates;
    },
    find({ phone, from, to }) {
      let found: readonly Message[] = all;
      if (from) found = byFrom.get(from) ?? [];
      else if (to) found = byTo.get(to) ?? [];
      else if (phone) found = mergeBySeq(byFrom.get(phone) ?? [], byTo.get(phone) ?? []);
      if (from && to) found = found.filter((message) => message.to === to);
      if (phone && (from || to)) found = found.filter((m) => m.from.jid === phone || m.to === phone);
      return found;
    },
    summary: () => totals,
  };
}

function append(index: Map<Jid, Message[]>, key: Jid, message: Message) {
  const list = index.get(key);
  if (list) list.push(message);
  else index.set(key, [message]);
}

function keepIn(index: Map<Jid, Message[]>, key: Jid, held: (message: Message) => boolean) {
  const left = index.get(key)?.filter(held) ?? [];
  if (left.length > 0) index.set(key, left);
  else index.delete(key);
}

function mergeBySeq(a: readonly Message[], b: readonly Message[]): readonly Message[] {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  // A message to oneself is in both lists.
  return [...new Set([...a, ...b])].sort((x, y) => x.seq - y.seq);
}
