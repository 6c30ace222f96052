/** The facts that the journal keeps, one a line. Short arrays: there are millions of them. */
import type { NetworkEvent } from '../frames.ts';
import type { Account, Message, MessageStatus, Phone, PhoneSettings } from './world.ts';

export type JournalRecord =
  | ['defaults', PhoneSettings]
  | ['phone', string, { name: string; business: boolean; own: Partial<PhoneSettings> }]
  | ['account', string, { token: string; instanceId: string; pushName: string; epoch: number; acked: number }]
  | ['unpaired', string]
  | ['epoch', string, number]
  | ['message', MessageRecord]
  /** The same envelope came again: sender, network id. */
  | ['again', string, string]
  /** Refused envelopes of a sender, counted in the ledger's summary. */
  | ['refused', string]
  /** Queued for an account; a receipt also moves its message. */
  | ['event', string, NetworkEvent]
  | ['acked', string, number]
  /** A status that no receipt told: sender, network id, status. */
  | ['status', string, string, MessageStatus];

interface MessageRecord {
  id: string;
  from: string;
  to: string;
  type: string;
  content: Record<string, unknown>;
  quoted?: string;
  at: number;
  ledger: 0 | 1;
  auto?: 1;
  seen?: number;
  status?: MessageStatus;
}

export function phoneRecord({ phone, name, business, own }: Phone): JournalRecord {
  return ['phone', phone, { name, business, own }];
}

export function accountRecord({ phone, token, instanceId, pushName, epoch, events }: Account): JournalRecord {
  return ['account', phone.phone, { token, instanceId, pushName, epoch, acked: events.ackedSeq() }];
}

export function messageRecord(message: Message): JournalRecord {
  const record: MessageRecord = {
    id: message.id,
    from: message.from.phone,
    to: message.to,
    type: message.type,
    content: message.content,
    at: message.at,
    ledger: message.seq > 0 ? 1 : 0,
  };
  if (message.quotedId !== undefined) record.quoted = message.quotedId;
  if (message.automatic) record.auto = 1;
  if (message.timesSeen > 1) record.seen = message.timesSeen;
  if (message.status !== 'sent') record.status = message.status;
  return ['message', record];
}
