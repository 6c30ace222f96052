/** Reads a posted body, item by item. No I/O, no clock. */
import { phoneOf, withoutAddedDigit } from '@posthorn/contract/jid.ts';
import type {
  InboundMessage,
  NetworkChange,
  NetworkFact,
  NetworkReceipt,
} from '@posthorn/core/network/driver.ts';
import { shapeFault } from '@posthorn/core/platform/json-shape.ts';
import { jidOf } from './addresses.ts';
import { readChange, readMessage } from './read-message.ts';
import { readTemplateNews } from './read-template-news.ts';
import { verdictOf } from './verdicts.ts';
import {
  bodyShape,
  changeShape,
  contactShape,
  entryShape,
  messageShape,
  statusShape,
  valueShape,
} from './webhook-shapes.ts';

/** One thing that a webhook tells. */
export type Told =
  /** `isOfFormer`: of a number that the instance had before. It says nothing about the present one. */
  | { kind: 'receipt'; receipt: NetworkReceipt; code?: number; isFree?: boolean; isOfFormer?: true }
  | { kind: 'message'; message: InboundMessage; isOfFormer?: true }
  | { kind: 'change'; change: NetworkChange }
  | { kind: 'fact'; fact: NetworkFact }
  | { kind: 'restriction'; restriction: string; at: Date }
  | { kind: 'quality'; isLow: boolean; at: Date }
  | { kind: 'banned' | 'reinstated'; at: Date };

export interface Reading {
  told: Told[];
  /** Items that could not be read, or are about another number: they cost themselves alone. */
  passedOver: number;
}

/** The account that the body is for. */
export interface Own {
  phoneNumberId: string;
  businessAccountId: string;
  phone: string;
  now: Date;
  /** The number that it had before. */
  former?: FormerNumber | undefined;
}

export interface FormerNumber {
  phoneNumberId: string;
  phone: string;
  /** Messages until then were written to it. */
  untilMs: number;
}

type Value = ReturnType<typeof valueShape.parse>;
type Contact = ReturnType<typeof contactShape.parse>;

/** Reads every entry, every change and every item in it. */
export function readWebhook(body: Uint8Array, own: Own): Reading {
  const reading: Reading = { told: [], passedOver: 0 };
  const parsed = bodyShape.safeParse(parse(body));
  if (!parsed.success) return { told: [], passedOver: 1 };
  let left = ITEMS_MAX;
  for (const rawEntry of listOf(parsed.data.entry)) {
    const entry = isRecord(rawEntry) ? entryShape.safeParse(rawEntry).data : undefined;
    for (const rawChange of listOf(entry?.changes)) {
      const change = isRecord(rawChange) ? changeShape.safeParse(rawChange).data : undefined;
      left -= 1 + itemsIn(change?.value);
      if (left < 0) return { ...reading, passedOver: reading.passedOver + 1 };
      // Older messages of a number that is used on a phone as well. Nobody waits for them.
      if (change?.field === 'history') continue;
      const value = isRecord(change?.value) ? valueShape.safeParse(change.value).data : undefined;
      if (entry && value && isOurs(value, entry.id, own))
        readValue(reading, { field: change?.field ?? '', value, at: dateOf(entry.time, own.now) }, own);
      else if (!value || !readOfFormer(reading, value, own)) reading.passedOver += 1;
    }
  }
  return reading;
}

/** A cheap check before the schema: to validate a value that is no object costs a hundred times as much. */
function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** No more than are read of one body. */
function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value.slice(0, ITEMS_MAX + 1) : [];
}

/** How many items a value has, before any of them is looked at. */
function itemsIn(value: unknown): number {
  const { messages, statuses, message_echoes: echoes, contacts } = (value ?? {}) as Record<string, unknown>;
  return [messages, statuses, echoes, contacts].reduce<number>(
    (sum, items) => sum + (Array.isArray(items) ? items.length : 0),
    0,
  );
}

const DEPTH_MAX = 64;
const FIELDS_MAX = 200_000;
/** Entries, changes and items of one body: in 3 MB there is room for no more of Meta's. */
const ITEMS_MAX = 10_000;

function parse(body: Uint8Array): unknown {
  const text = Buffer.from(body).toString('utf8');
  if (shapeFault(text, { depthMax: DEPTH_MAX, fieldsMax: FIELDS_MAX }) !== null) return undefined;
  try {
    return MAY_LOSE_DIGITS.test(text) ? JSON.parse(text, asWritten) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const MAY_LOSE_DIGITS = /\d{16}/;

/** Ids of templates come as numbers, of which JavaScript keeps 15 digits for sure: longer ones stay texts. */
function asWritten(_: string, value: unknown, { source }: { source?: string } = {}): unknown {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? source : value;
}

/** By the id of the number, never by the number: Brazil's ninth digit comes and goes. */
function isOurs({ metadata }: Value, entryId: string | undefined, own: Own): boolean {
  const numberId = metadata?.phone_number_id;
  return numberId === undefined ? entryId === own.businessAccountId : numberId === own.phoneNumberId;
}

function readValue(
  reading: Reading,
  { field, value, at }: { field: string; value: Value; at: Date },
  own: Own,
): void {
  const each = (items: readonly unknown[] | undefined, read: (item: unknown) => Told[] | null) => {
    for (const item of items ?? []) {
      const told = read(item);
      if (told) reading.told.push(...told);
      else reading.passedOver += 1;
    }
  };
  const contacts = contactsOf(value);
  each(value.messages, (item) => readInbound(item, contacts, own));
  each(value.message_echoes, (item) => readEcho(item, own));
  each(value.statuses, (item) => readStatus(item, own));
  reading.told.push(...accountNews(field, value, at, own));
  const fact = readTemplateNews(field, value, at);
  if (fact) reading.told.push({ kind: 'fact', fact });
}

/**
 * Reads the outcomes of messages that a former number of the instance sent, which the network tells by our ids, and the
 * messages that people wrote to it before the change. False if there is none.
 */
function readOfFormer(reading: Reading, value: Value, own: Own): boolean {
  const { statuses, metadata, messages, message_echoes: echoes } = value;
  const told = (statuses ?? []).flatMap((item) => readStatus(item, own) ?? []);
  const ours = told.flatMap((each) => {
    if (each.kind !== 'receipt' || each.receipt.assignedId === undefined) return [];
    return [{ kind: each.kind, receipt: each.receipt, isOfFormer: true as const }];
  });
  reading.told.push(...ours);
  const { former } = own;
  if (!former || metadata?.phone_number_id !== former.phoneNumberId) return ours.length > 0;
  const before = { ...own, phone: former.phone };
  const contacts = contactsOf(value);
  const written = [
    ...(messages ?? []).flatMap((item) => readInbound(item, contacts, before) ?? []),
    ...(echoes ?? []).flatMap((item) => readEcho(item, before) ?? []),
  ];
  const taken = written.filter((each) => (timeOf(each)?.getTime() ?? 0) <= former.untilMs);
  reading.told.push(
    ...taken.map((each) => (each.kind === 'message' ? { ...each, isOfFormer: true as const } : each)),
  );
  return ours.length + taken.length > 0;
}

function timeOf(told: Told): Date | undefined {
  if (told.kind === 'message') return told.message.at;
  if (told.kind === 'change') return told.change.at;
  return told.kind === 'fact' ? told.fact.at : undefined;
}

function contactsOf(value: Value): Contact[] {
  return (value.contacts ?? [])
    .map((contact) => contactShape.safeParse(contact).data)
    .filter((contact) => contact !== undefined);
}

function readInbound(item: unknown, contacts: readonly Contact[], own: Own): Told[] | null {
  const message = messageShape.safeParse(item).data;
  // This driver has no groups, and what is written to one is not for the writer's own chat.
  if (!message || message.group_id !== undefined) return null;
  const { from: phone, from_user_id: id } = message;
  const isNamed = phone !== undefined || id !== undefined;
  const contact = isNamed
    ? contacts.find(({ wa_id, user_id }) => (wa_id && wa_id === phone) || (user_id && user_id === id))
    : contacts.length === 1
      ? contacts[0]
      : undefined;
  const userId = id ?? contact?.user_id;
  const from = jidOf({ phone: phone ?? contact?.wa_id, userId });
  if (!from) return null;
  const at = dateOf(message.timestamp, own.now);
  const pairs = pairOf(from, userId, at);
  const moved = movedOf(message, at);
  if (moved) return [...pairs, ...moved];
  const between = { chat: from, from, fromMe: false, pushName: contact?.profile?.name ?? '', at };
  const change = readChange(message, between);
  if (change) return [...pairs, { kind: 'change', change }];
  return [...pairs, { kind: 'message', message: readMessage(message, between) }];
}

/** A message that was written on the phone, for a number that is used on a phone and on the Cloud API. */
function readEcho(item: unknown, own: Own): Told[] | null {
  const message = messageShape.safeParse(item).data;
  const chat = message && jidOf({ phone: message.to, userId: message.to_user_id });
  const from = jidOf({ phone: own.phone });
  if (!message || message.group_id !== undefined || !chat || !from) return null;
  const between = { chat, from, fromMe: true, pushName: '', at: dateOf(message.timestamp, own.now) };
  const change = readChange(message, between);
  return [change ? { kind: 'change', change } : { kind: 'message', message: readMessage(message, between) }];
}

const KINDS: ReadonlySet<string> = new Set(['sent', 'delivered', 'read', 'played', 'failed']);
const OUR_ID = /^[0-9A-F]{32}$/;

function readStatus(item: unknown, own: Own): Told[] | null {
  const status = statusShape.safeParse(item).data;
  if (!status || !KINDS.has(status.status)) return null;
  const { id, recipient_id: phone, recipient_user_id: userId, biz_opaque_callback_data: ours = '' } = status;
  const by = jidOf({ phone, userId });
  if (!by) return null;
  const kind = status.status as NetworkReceipt['kind'];
  const at = dateOf(status.timestamp, own.now);
  const named = OUR_ID.test(ours) ? { networkId: ours, assignedId: id } : { networkId: id };
  const code = kind === 'failed' ? status.errors?.[0]?.code : undefined;
  const reason =
    kind === 'failed' ? { reason: code === undefined ? 'refused_by_network' : verdictOf(code).reason } : {};
  const receipt = { ...named, kind, ...reason, chat: by, by, at };
  const isFree = status.pricing?.billable === false;
  const more = { ...(code === undefined ? {} : { code }), ...(isFree ? { isFree } : {}) };
  return [...pairOf(by, userId, at), { kind: 'receipt', receipt, ...more }];
}

/** The pair of a number and an id that name one person, so that a later item without the number finds their chat. */
function pairOf(jid: string, userId: string | undefined, at: Date): Told[] {
  const anonymous = userId === undefined ? null : jidOf({ userId });
  if (!anonymous || anonymous === jid) return [];
  return [{ kind: 'fact', fact: { kind: 'lid', lid: anonymous, phone: phoneOf(jid), at } }];
}

/**
 * Somebody has another id or number: the ids follow the number where there is one, else the former id the new one. No
 * other news that the network writes in somebody's name, such as that they have another phone, is a message of theirs.
 */
function movedOf(
  { type, system, from_user_id: sender }: ReturnType<typeof messageShape.parse>,
  at: Date,
): Told[] | null {
  if (!system?.type?.startsWith('user_changed_')) return type === 'system' ? [] : null;
  const phone = /^\d{7,15}$/.exec(system.wa_id ?? '')?.[0];
  const former = jidOf({ userId: system.previous_user_id });
  const present = jidOf({ userId: system.user_id ?? sender });
  if (phone !== undefined)
    return [present, former].flatMap((lid) =>
      lid ? [{ kind: 'fact' as const, fact: { kind: 'lid' as const, lid, phone, at } }] : [],
    );
  if (!former || !present || former === present) return [];
  return [{ kind: 'fact', fact: { kind: 'user_id', from: former, to: present, at } }];
}

function accountNews(field: string, value: Value, at: Date, own: Own): Told[] {
  const { event, ban_info: ban, display_phone_number: about } = value;
  if (field === 'phone_number_quality_update') {
    // It names its number by nothing else, and may be of another one of the business account.
    if (about !== undefined && bareOf(about) !== bareOf(own.phone)) return [];
    return event === 'FLAGGED' || event === 'UNFLAGGED'
      ? [{ kind: 'quality', isLow: event === 'FLAGGED', at }]
      : [];
  }
  if (field !== 'account_update') return [];
  if (ban?.waba_ban_state === 'DISABLE') return [{ kind: 'banned', at }];
  if (ban?.waba_ban_state === 'REINSTATE') return [{ kind: 'reinstated', at }];
  return event === 'ACCOUNT_RESTRICTION'
    ? [{ kind: 'restriction', restriction: 'account_restricted', at }]
    : [];
}

/** The digits of a number, without one that its country added later: it comes and goes. */
function bareOf(phone: string): string {
  return withoutAddedDigit(phone.replace(/\D/g, ''));
}

function dateOf(seconds: string | number | undefined, now: Date): Date {
  const ms = Number(seconds) * 1000;
  return Number.isFinite(ms) && ms > 0 ? new Date(ms) : now;
}
