import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  EVENT_TYPES,
  eventPattern,
  eventPayloads,
  isEventType,
  matchesPattern,
} from '@posthorn/contract/events.ts';
import { INBOUND_FAMILIES, OUTBOUND_TYPES } from '@posthorn/contract/message-types.ts';
import fc from 'fast-check';

/** EVT-3, EVT-7, EVT-8 and STA-12 by name. */
const SPEC_EVENTS = [
  'message.sent',
  'message.delivered',
  'message.read',
  'message.played',
  'message.received',
  'message.edited',
  'message.deleted',
  'message.starred',
  'image.delivery_failed',
  'order.received',
  'product.received',
  'status.received',
  'status.viewed',
  'status.reaction',
  'status.reply',
  'status.reply_sent',
];

describe('the events', () => {
  it('include every one that is promised', () => {
    assert.deepEqual(
      SPEC_EVENTS.filter((type) => !isEventType(type)),
      [],
    );
    assert.ok(EVENT_TYPES.some((type) => type.startsWith('label.')));
  });

  it('report the failure of every type that can be sent and the arrival of every family', () => {
    for (const type of OUTBOUND_TYPES) assert.ok(isEventType(`${type}.delivery_failed`), type);
    for (const family of INBOUND_FAMILIES)
      assert.ok(isEventType(`${family}.received`) && isEventType(`${family}.deleted`), family);
  });

  it('have one dot in their name, which the patterns rely on', () => {
    for (const type of EVENT_TYPES) assert.match(type, /^[a-z_]+\.[a-z_]+$/);
  });

  it('carry message_ids, the chat and both names of the other party in the message family', () => {
    const data = {
      message_ids: ['0198c0de-0000-7000-8000-000000000001'],
      message_type: 'text',
      chat: '5511999990000@s.whatsapp.net',
      phone: '5511999990000',
      from: '5511999990000@s.whatsapp.net',
      is_from_me: true,
      timestamp: '2026-01-31T12:00:00.000Z',
    };
    assert.ok(eventPayloads['message.sent'].safeParse({ ...data, idempotency_key: 'k' }).success);
    assert.ok(!eventPayloads['message.sent'].safeParse({ ...data, message_ids: [] }).success);
    for (const field of Object.keys(data)) {
      const { [field as keyof typeof data]: _, ...rest } = data;
      assert.ok(!eventPayloads['message.delivered'].safeParse(rest).success, field);
    }
    assert.ok(!eventPayloads['text.delivery_failed'].safeParse(data).success);
    assert.ok(
      eventPayloads['text.delivery_failed'].safeParse({ ...data, wire_state: 'not_sent', reason: 'refused' })
        .success,
    );
  });

  it('stamp status events with Unix seconds', () => {
    const viewed = {
      phone: '1',
      from: 'x@lid',
      status_message_id: 'AB',
      status_type: 'text',
      receipt_type: 'read',
    };
    assert.ok(eventPayloads['status.viewed'].safeParse({ ...viewed, timestamp: 1_769_860_800 }).success);
    assert.ok(
      !eventPayloads['status.viewed'].safeParse({ ...viewed, timestamp: '2026-01-31T12:00:00Z' }).success,
    );
  });
});

describe('a subscription pattern', () => {
  const word = fc.stringMatching(/^[a-z_]{1,12}$/);
  const type = fc.tuple(word, word);

  it('matches exactly the types that it spells', () => {
    fc.assert(
      fc.property(type, type, ([family, action], [otherFamily, otherAction]) => {
        const name = `${family}.${action}`;
        const other = `${otherFamily}.${otherAction}`;
        assert.ok(matchesPattern('*', name));
        assert.ok(matchesPattern(name, name));
        assert.equal(matchesPattern(name, other), name === other);
        assert.equal(matchesPattern(`${family}.*`, other), family === otherFamily);
        assert.equal(matchesPattern(`*.${action}`, other), action === otherAction);
      }),
    );
  });

  it('is accepted when it covers an event and refused when it covers none', () => {
    fc.assert(
      fc.property(fc.constantFrom(...EVENT_TYPES), (name) => {
        const [family, action] = name.split('.');
        for (const pattern of ['*', name, `${family}.*`, `*.${action}`])
          assert.ok(eventPattern.safeParse(pattern).success);
      }),
    );
    for (const pattern of [
      '',
      '**',
      '*.*',
      'message',
      'message.',
      '.sent',
      'mess*',
      'message.sent.*',
      '*sent',
    ])
      assert.ok(!eventPattern.safeParse(pattern).success, pattern);
  });
});
