import { type Jid, phoneOf } from '@posthorn/contract/jid.ts';
import { buildEvent, subjectOf } from '../events/build-event.ts';
import type { NewEvent } from '../events/insert-events.ts';
import type { Step } from './progress.ts';

/** The data of an event about an outbound message, as the recorder reads it from the message's row. */
export interface OutboundFacts {
  id: string;
  company_id: number;
  instance_id: string;
  type: string;
  chat_jid: string;
  idempotency_key: string | null;
  media_id: string | null;
  trace_id: string | null;
  is_forwarded: boolean;
  forwarding_score: number;
  /** Null for a plain text, whose content no event tells. */
  content: Record<string, unknown> | null;
}

/** The fields that every event about an outbound message begins with (EVT-5). */
export function outboundFamily(
  message: Pick<OutboundFacts, 'id' | 'type' | 'chat_jid' | 'media_id' | 'is_forwarded' | 'forwarding_score'>,
  at: Date,
): Record<string, unknown> {
  const data: Record<string, unknown> = {
    message_ids: [message.id],
    message_type: message.type,
    chat: message.chat_jid,
    phone: phoneOf(message.chat_jid),
    from: message.chat_jid,
    is_from_me: true,
    timestamp: at.toISOString(),
  };
  if (message.media_id) data.media_id = message.media_id;
  // They describe the wire: a clean copy has neither (EVT-6).
  if (message.is_forwarded) {
    data.is_forwarded = true;
    data.forwarding_score = message.forwarding_score;
  }
  return data;
}

/** The event of one step of an outbound message (EVT-3). */
export function progressEvent(
  message: OutboundFacts,
  step: Step,
  proof: {
    at: Date;
    by?: Jid | undefined;
    phone?: string | undefined;
    reason?: string | undefined;
    wireState?: string | undefined;
    isToldByNetwork?: boolean | undefined;
  },
  now: Date,
): NewEvent {
  const data = outboundFamily(message, proof.at);
  if (step === 'sent') {
    if (message.idempotency_key) data.idempotency_key = message.idempotency_key;
    if (message.type === 'contact') data.contacts = message.content?.contacts;
  }
  if (proof.by !== undefined && step !== 'sent') {
    data.from = proof.by;
    data.phone = proof.phone ?? phoneOf(proof.by);
  }
  if (step === 'failed') {
    if (message.idempotency_key) data.idempotency_key = message.idempotency_key;
    // The network had taken the message before it told of the failure.
    data.wire_state = proof.isToldByNetwork ? 'sent' : (proof.wireState ?? 'not_sent');
    data.reason = proof.reason ?? 'send_failed';
  }
  const type = step === 'failed' ? `${message.type}.delivery_failed` : `message.${step}`;
  return buildEvent(subjectOf(message), { type, data, now });
}
