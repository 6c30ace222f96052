import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messageReceipt } from '@posthorn/contract/event-payloads.ts';
import { type OutboundFacts, progressEvent } from '@posthorn/core/messages/message-events.ts';
import { newId } from '@posthorn/core/platform/ids.ts';

test('a receipt in a group names the member, and that it was sent the group', () => {
  const group = '120363000000000000@g.us';
  const message: OutboundFacts = {
    id: newId(),
    company_id: 1,
    instance_id: newId(),
    type: 'text',
    chat_jid: group,
    idempotency_key: null,
    media_id: null,
    trace_id: null,
    is_forwarded: false,
    forwarding_score: 0,
    content: null,
  };
  const proof = { at: new Date(), by: '5511988887777@s.whatsapp.net' as const };
  for (const step of ['delivered', 'read', 'played'] as const) {
    const { type, data } = progressEvent(message, step, proof, new Date());
    assert.equal(type, `message.${step}`);
    assert.deepEqual([data.chat, data.from, data.phone], [group, proof.by, '5511988887777']);
    messageReceipt.parse(data);
  }
  const { data } = progressEvent(message, 'sent', proof, new Date());
  assert.deepEqual([data.chat, data.from, data.phone], [group, group, '']);
});
