import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { eventPayloads, isEventType } from '@posthorn/contract/events.ts';
import { waitFor } from '../support/process.ts';
import { type LoggedEvent, type Sending, startSending, type TestInstance } from '../support/sending.ts';

let pipeline: Sending;
let instance: TestInstance;

before(async () => {
  pipeline = await startSending();
  instance = await pipeline.connect();
});
after(() => pipeline.close());

interface Case {
  path: string;
  body: Record<string, unknown>;
  /** The relevant fields of the message on the recipient's phone. */
  shows: Record<string, unknown>;
  type: string;
  /** The last event of the series. */
  ends?: 'message.read' | 'message.played';
  /** Fields of message.sent besides those of every send. */
  sent?: Record<string, unknown>;
}

const VCARD = 'BEGIN:VCARD\nVERSION:3.0\nFN:Ana, Maria\nTEL:+5511999990002\nEND:VCARD';
const GENERATED =
  'BEGIN:VCARD\nVERSION:3.0\nFN:Bia\nTEL;type=CELL;type=VOICE;waid=5511999990003:+5511999990003\nEND:VCARD';
const BIA = { name: 'Bia', phone: '+5511999990003', vcard: GENERATED };

const CASES: Record<string, Case> = {
  text: {
    path: '/messages/text',
    body: { text: 'hello', mentions: ['5511999990001@s.whatsapp.net'] },
    shows: {
      type: 'text',
      text: 'hello',
      content: { text: 'hello', mentions: ['5511999990001@s.whatsapp.net'] },
    },
    type: 'text',
  },
  'link-preview': {
    path: '/messages/link-preview',
    body: { text: 'see https://a.test/x', url: 'https://a.test/x', title: 'A' },
    shows: {
      type: 'text',
      content: { text: 'see https://a.test/x', preview: { url: 'https://a.test/x', title: 'A' } },
    },
    type: 'text',
  },
  location: {
    path: '/messages/location',
    body: { latitude: -23.5, longitude: -46.6, name: 'Here', address: 'Street 1' },
    shows: {
      type: 'location',
      content: { latitude: -23.5, longitude: -46.6, name: 'Here', address: 'Street 1' },
    },
    type: 'location',
  },
  'contact by name and phone': {
    path: '/messages/contact',
    body: { contact_name: 'Bia', contact_phone: '+5511999990003' },
    shows: { type: 'contact', text: 'Bia', content: { contacts: [BIA] } },
    type: 'contact',
    sent: { contacts: [BIA] },
  },
  'contact by vcard, sent verbatim': {
    path: '/messages/contact',
    body: { vcard: VCARD, contact_name: 'ignored', contact_phone: '+5511999990009' },
    shows: { content: { contacts: [{ name: 'Ana, Maria', phone: '+5511999990002', vcard: VCARD }] } },
    type: 'contact',
  },
  'contacts as one grouped card, before vcard': {
    path: '/messages/contact',
    body: {
      vcard: VCARD,
      contacts: [{ contact_name: 'Bia', contact_phone: '+5511999990003' }, { vcard: VCARD }],
    },
    shows: { content: { contacts: [BIA, { name: 'Ana, Maria', phone: '+5511999990002', vcard: VCARD }] } },
    type: 'contact',
  },
  poll: {
    path: '/messages/poll',
    body: { question: 'When?', options: ['now', 'later'] },
    shows: {
      type: 'poll',
      text: 'When?',
      content: { question: 'When?', options: ['now', 'later'], max_selections: 1 },
    },
    type: 'poll',
  },
  event: {
    path: '/messages/event',
    body: {
      name: 'Launch',
      start_at: '2030-01-01T10:00:00Z',
      end_at: '2030-01-01T11:00:00-03:00',
      description: 'all of us',
      location: 'Room 1',
      link: 'https://a.test/call',
    },
    shows: {
      type: 'event',
      text: 'Launch',
      content: {
        name: 'Launch',
        start_at: '2030-01-01T10:00:00Z',
        end_at: '2030-01-01T11:00:00-03:00',
        description: 'all of us',
        location: 'Room 1',
        link: 'https://a.test/call',
      },
    },
    type: 'event',
  },
};

/** Every event has the shape of the contract, and names the message as the 202 did. */
function checkEvents(events: readonly LoggedEvent[], messageId: string, type: string): void {
  for (const event of events) {
    assert.ok(isEventType(event.type), event.type);
    assert.deepEqual(eventPayloads[event.type].parse(event.data), event.data, `${event.type} as documented`);
    assert.equal(event.data.message_ids[0], messageId);
    assert.equal(event.data.message_type, type);
    assert.equal(event.data.is_from_me, true);
  }
}

async function ladder(messageId: string, last: string): Promise<LoggedEvent[]> {
  return waitFor(
    async () => {
      const events = await pipeline.eventsOf(messageId);
      return events.at(-1)?.type === last && events;
    },
    undefined,
    { what: `${last} of a message` },
  );
}

describe('every send without media', () => {
  for (const [name, { path, body, shows, type, ends = 'message.read', sent = {} }] of Object.entries(CASES)) {
    test(`${name}: is accepted, shown on the phone, and causes its events in order`, async () => {
      const phone = pipeline.newPhone();
      const key = randomUUID();
      const accepted = await pipeline.send(
        instance,
        path,
        { to: phone, ...body },
        { 'idempotency-key': key },
      );
      assert.equal(accepted.status, 'queued');
      assert.equal(accepted.idempotency_key, key);
      assert.equal(typeof accepted.task_id, 'string');
      const events = await ladder(accepted.message_id, ends);
      assert.deepEqual(
        events.map((event) => event.type),
        ['message.sent', 'message.delivered', ends],
      );
      checkEvents(events, accepted.message_id, type);
      assert.equal(events[0]!.data.idempotency_key, key);
      assert.equal(events[0]!.data.phone, phone);
      for (const [field, value] of Object.entries(sent)) assert.deepEqual(events[0]!.data[field], value);
      const [message] = await pipeline.shown(phone);
      assert.equal(message.id, accepted.message_id.replaceAll('-', '').toUpperCase());
      assert.equal(message.from, instance.jid);
      for (const [field, value] of Object.entries(shows)) assert.deepEqual(message[field], value, field);
      const read = await pipeline.call(instance, 'GET', `/message/${accepted.message_id}`);
      assert.equal(read.body.message_type, type);
      assert.equal(read.body.status, 'read');
      const replay = await pipeline.call(
        instance,
        'POST',
        path,
        { to: phone, ...body },
        { 'idempotency-key': key },
      );
      assert.deepEqual(
        [replay.status, replay.headers.get('idempotent-replayed'), replay.body],
        [202, 'true', { ...accepted, status: 'sent' }],
      );
    });
  }

  test('a quoted message is quoted on the phone, by its UUID or its network id', async () => {
    const phone = pipeline.newPhone();
    const first = await pipeline.send(instance, '/messages/text', { to: phone, text: 'quoted' });
    const hex = first.message_id.replaceAll('-', '').toUpperCase();
    const quotable: [string, Record<string, unknown>][] = [
      ['/messages/text', { text: 'a' }],
      ['/messages/location', { latitude: 1, longitude: 2 }],
      ['/messages/contact', { contact_name: 'Bia', contact_phone: '+5511999990003' }],
      ['/messages/link-preview', { text: 'https://a.test', url: 'https://a.test' }],
    ];
    for (const [path, body] of quotable) {
      await pipeline.send(instance, path, { to: phone, ...body, quoted_id: first.message_id });
    }
    await pipeline.send(instance, '/messages/text', { to: phone, text: 'b', quoted_id: hex });
    await pipeline.send(instance, '/messages/text', { to: phone, text: 'c', quoted_id: hex.toLowerCase() });
    const shown = await waitFor(async () => {
      const messages = await pipeline.shown(phone);
      return messages.length === 7 && messages;
    });
    assert.deepEqual(
      shown.slice(1).map((message) => message.quoted_id),
      [hex, hex, hex, hex, hex, hex],
    );
    await pipeline.sandbox.post(`/phones/${phone}/messages`, {
      to: instance.phone,
      type: 'text',
      text: 'and back',
      quoted_id: hex,
    });
    const answer = await pipeline.event(instance, 'message.received', ({ chat }) => chat.startsWith(phone));
    assert.equal(answer.data.quoted_id, first.message_id);
    for (const [path, body] of quotable) {
      const unknown = { to: phone, ...body, quoted_id: randomUUID() };
      const refused = await pipeline.call(instance, 'POST', path, unknown);
      assert.deepEqual([refused.status, refused.body.error_code], [404, 'MESSAGE_NOT_FOUND'], path);
    }
  });

  test('a group gets its messages, and its members read them', async () => {
    const members = [pipeline.newPhone(), pipeline.newPhone()];
    const group = await pipeline.sandbox.post('/groups', {
      name: 'Team',
      participants: [...members, instance.phone],
    });
    for (const { path, body, type } of [CASES.text!, CASES.event!, CASES.poll!]) {
      const accepted = await pipeline.send(instance, path, { to: group.jid, ...body });
      const events = await ladder(accepted.message_id, 'message.read');
      checkEvents(events, accepted.message_id, type);
      assert.equal(events[0]!.data.phone, '');
      assert.equal(events[0]!.data.chat, group.jid);
      const reader = events.at(-1)!.data;
      assert.ok(members.includes(reader.phone), 'who read it');
      assert.deepEqual([reader.chat, reader.from], [group.jid, `${reader.phone}@s.whatsapp.net`]);
    }
    for (const member of members) {
      const shown = await pipeline.shown(member, group.jid);
      assert.deepEqual(
        shown.map((message) => message.type),
        ['text', 'event', 'poll'],
      );
    }
  });
});

describe('templates', () => {
  const body = { body_text: 'Confirm?', footer_text: 'Acme', buttons: [{ text: 'Yes', id: 'yes' }] };

  test('reach the phone from a business account, and the tap on a button comes back', async () => {
    const business = await pipeline.connect();
    await pipeline.sandbox.post('/phones', { phone: business.phone, business: true });
    const phone = pipeline.newPhone();
    const accepted = await pipeline.send(business, '/messages/template', { to: phone, ...body });
    const events = await ladder(accepted.message_id, 'message.read');
    checkEvents(events, accepted.message_id, 'template');
    const [message] = await pipeline.shown(phone);
    assert.deepEqual([message.type, message.content], ['template', body]);
    await pipeline.sandbox.post(`/phones/${phone}/messages`, {
      to: business.phone,
      type: 'template_reply',
      message_id: message.id,
      button_id: 'yes',
      text: 'Yes',
    });
    const reply = await pipeline.event(business, 'template_reply.received');
    assert.deepEqual(reply.data.content, { message_id: accepted.message_id, button_id: 'yes', text: 'Yes' });
  });

  test('are rejected from another account, without a retry', async () => {
    const phone = pipeline.newPhone();
    const accepted = await pipeline.send(instance, '/messages/template', { to: phone, ...body });
    const events = await ladder(accepted.message_id, 'template.delivery_failed');
    assert.equal(events.length, 1);
    checkEvents(events, accepted.message_id, 'template');
    assert.equal(events[0]!.data.reason, 'business_account_required');
    assert.equal(events[0]!.data.wire_state, 'not_sent');
    assert.deepEqual(await pipeline.shown(phone), []);
    const read = await pipeline.call(instance, 'GET', `/message/${accepted.message_id}`);
    assert.deepEqual([read.body.status, read.body.failed_reason], ['failed', 'business_account_required']);
  });
});

describe('reactions', () => {
  test('stay on the message until an empty emoji removes them', async () => {
    const phone = pipeline.newPhone();
    const target = await pipeline.send(instance, '/messages/text', { to: phone, text: 'react' });
    const reaction = await pipeline.send(instance, '/messages/reaction', {
      to: phone,
      message_id: target.message_id,
      emoji: '👍',
    });
    const events = await ladder(reaction.message_id, 'message.delivered');
    checkEvents(events, reaction.message_id, 'reaction');
    assert.deepEqual((await pipeline.shown(phone))[0].reactions, [{ from: instance.jid, emoji: '👍' }]);
    const hex = target.message_id.replaceAll('-', '').toUpperCase();
    await pipeline.send(instance, '/messages/reaction', { to: phone, message_id: hex, emoji: '' });
    await waitFor(async () => (await pipeline.shown(phone))[0].reactions.length === 0);
    assert.equal((await pipeline.shown(phone)).length, 1);
  });

  test('reach a received message by the id of its event', async () => {
    const phone = pipeline.newPhone();
    const inbound = await pipeline.sandbox.post(`/phones/${phone}/messages`, {
      to: instance.phone,
      text: 'hi',
    });
    const received = await pipeline.event(instance, 'text.received', (data) => data.phone === phone);
    const ref = received.data.message_ids[0];
    await pipeline.send(instance, '/messages/reaction', { to: phone, message_id: ref, emoji: '❤️' });
    await waitFor(async () => (await pipeline.shown(phone))[0].reactions.length === 1);
    assert.equal((await pipeline.shown(phone))[0].id, inbound.id);
  });

  test('to an unknown UUID, or to a message of another chat, are 404', async () => {
    const phone = pipeline.newPhone();
    const target = await pipeline.send(instance, '/messages/text', { to: phone, text: 'react' });
    for (const body of [
      { to: phone, message_id: randomUUID(), emoji: 'x' },
      { to: pipeline.newPhone(), message_id: target.message_id, emoji: 'x' },
    ]) {
      const refused = await pipeline.call(instance, 'POST', '/messages/reaction', body);
      assert.deepEqual([refused.status, refused.body.error_code], [404, 'MESSAGE_NOT_FOUND']);
    }
  });

  test('by a phone are received with the UUID of our message', async () => {
    const phone = pipeline.newPhone();
    const target = await pipeline.send(instance, '/messages/text', { to: phone, text: 'react' });
    await ladder(target.message_id, 'message.read');
    const id = target.message_id.replaceAll('-', '').toUpperCase();
    for (const emoji of ['🎉', '']) {
      await pipeline.sandbox.post(`/phones/${phone}/messages`, {
        to: instance.phone,
        type: 'reaction',
        message_id: id,
        emoji,
      });
    }
    const fits = (removed: boolean) => (data: LoggedEvent['data']) =>
      data.phone === phone && Boolean(data.content.removed) === removed;
    const reacted = await pipeline.event(instance, 'reaction.received', fits(false));
    assert.deepEqual(reacted.data.content, { message_id: target.message_id, emoji: '🎉' });
    const removed = await pipeline.event(instance, 'message.received', (data) => fits(true)(data));
    assert.deepEqual(removed.data.content, { message_id: target.message_id, emoji: '', removed: true });
  });
});

test('interactive sends are disabled, with or without an Idempotency-Key', async () => {
  for (const path of ['button', 'button-pix', 'button-otp', 'option-list']) {
    const answer = await pipeline.api.call('POST', `/v1/instances/${instance.id}/messages/${path}`, {
      key: pipeline.company.apiKey,
      body: { to: '5511999990000' },
    });
    assert.deepEqual([answer.status, answer.body.error_code], [403, 'INTERACTIVE_DISABLED'], path);
  }
});
