/** The facts that the journal keeps, one a line. Short arrays: there are millions of them. */
import type { NetworkEvent } from '../frames.ts';
import type { DeviceFact } from './device-state.ts';
import type {
  Account,
  AnonymousId,
  Group,
  Message,
  MessageStatus,
  Phone,
  PhoneSettings,
  StatusPrivacy,
} from './model.ts';
import type { Storefront } from './storefront.ts';

export type JournalRecord =
  | ['defaults', PhoneSettings]
  | ['phone', string, PhoneRecord]
  | ['group', GroupRecord]
  | ['account', string, AccountRecord]
  | ['unpaired', string]
  /** The account's own name changed. */
  | ['push_name', string, string]
  | ['epoch', string, number]
  | ['message', MessageRecord]
  /** The same envelope came again: sender, network id. */
  | ['again', string, string]
  /** Refused envelopes of a sender, counted in the ledger's summary. */
  | ['refused', string]
  /** So many messages were there that are not any more. */
  | ['forgot', number]
  /** Envelopes and repeats of a sender that were counted and are forgotten. */
  | ['counted', string, number, number]
  /** Queued for an account; a receipt also moves its message. */
  | ['event', string, NetworkEvent]
  /** Made up by a tester, and queued unchanged for an account. */
  | ['raw', string, { s: number }]
  | ['acked', string, number]
  /** A status that no receipt told: sender, network id, status, with whom. */
  | ['status', string, string, MessageStatus, string]
  /** Starred or not: whose phone, sender, network id. */
  | ['star', string, string, string, boolean]
  /** A fact of the state that an account's devices share: whose phone, the fact, and when. */
  | ['device', string, DeviceFact, number];

interface PhoneRecord {
  name: string;
  business: boolean;
  own: Partial<PhoneSettings>;
  contacts?: string[];
  blocked?: string[];
  privacy?: StatusPrivacy;
  about?: string;
  picture?: string;
  lid?: AnonymousId;
  storefront?: Storefront;
}

/** Journals of before have the first four alone. */
interface GroupRecord {
  jid: string;
  name: string;
  participants: string[];
  admins: string[];
  description?: string;
  owner?: string;
  at?: number;
  announce?: true;
  locked?: true;
  code?: string;
  capacity?: number;
}

interface AccountRecord {
  token: string;
  instanceId: string;
  pushName: string;
  epoch: number;
  acked: number;
  secretsSince: number;
}

interface MessageRecord {
  id: string;
  from: string;
  to: string;
  type: string;
  content: Record<string, unknown>;
  quoted?: string;
  at: number;
  ledger: 0 | 1;
  /** Its place in the ledger, where others before it were forgotten. */
  seq?: number;
  auto?: 1;
  seen?: number;
  status?: MessageStatus;
  /** How far it got with each, where there are several. */
  reached?: [string, MessageStatus][];
  fwd?: number;
}

export function phoneRecord(phone: Phone): JournalRecord {
  const { name, business, own, contacts, blocked, statusPrivacy } = phone;
  const record: PhoneRecord = { name, business, own };
  if (contacts.size > 0) record.contacts = [...contacts];
  if (blocked.size > 0) record.blocked = [...blocked];
  if (statusPrivacy.type !== 'contacts') record.privacy = statusPrivacy;
  if (phone.about !== '') record.about = phone.about;
  if (phone.picture) record.picture = phone.picture;
  if (phone.lid) record.lid = phone.lid;
  if (phone.storefront) record.storefront = phone.storefront;
  return ['phone', phone.phone, record];
}

export function groupRecord(group: Group): JournalRecord {
  const { jid, name, description, owner, code, capacity } = group;
  const numbers = (phones: Iterable<Phone>) => [...phones].map((phone) => phone.phone);
  const record: GroupRecord = {
    jid,
    name,
    participants: numbers(group.participants),
    admins: numbers(group.admins),
    at: group.createdAt,
    code,
    capacity,
  };
  if (description !== '') record.description = description;
  if (owner) record.owner = owner.phone;
  if (group.announce) record.announce = true;
  if (group.locked) record.locked = true;
  return ['group', record];
}

export function accountRecord(account: Account): JournalRecord {
  const { phone, token, instanceId, pushName, epoch, events, secretsSince } = account;
  return [
    'account',
    phone.phone,
    { token, instanceId, pushName, epoch, acked: events.ackedSeq(), secretsSince },
  ];
}

export function messageRecord(message: Message, options: { withPlace?: boolean } = {}): JournalRecord {
  const record: MessageRecord = {
    id: message.id,
    from: message.from.phone,
    to: message.to,
    type: message.type,
    content: message.content,
    at: message.at,
    ledger: message.seq > 0 ? 1 : 0,
  };
  if (options.withPlace && message.seq > 0) record.seq = message.seq;
  if (message.quotedId !== undefined) record.quoted = message.quotedId;
  if (message.automatic) record.auto = 1;
  if (message.timesSeen > 1) record.seen = message.timesSeen;
  if (message.status !== 'sent') record.status = message.status;
  if (message.forwarded > 0) record.fwd = message.forwarded;
  if (message.reached && message.reached.size > 0) {
    record.reached = [...message.reached].map(([phone, status]) => [phone.phone, status]);
  }
  return ['message', record];
}
