import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventPayloads, isEventType } from '@posthorn/contract/events.ts';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

let pipeline: Sending;
let instance: TestInstance;

before(async () => {
  pipeline = await startSending();
  instance = await pipeline.connect();
});
after(() => pipeline.close());

const POLL = { question: 'When?', options: ['now', 'later'], max_selections: 1 };
const EVENT = { name: 'Launch', start_at: '2030-01-01T10:00:00Z' };
const CONTACTS = { contacts: [{ name: 'Bia', phone: '+5511999990003', vcard: 'BEGIN:VCARD\nEND:VCARD' }] };
const LOCATION = { latitude: 1.5, longitude: 2.5, name: 'Here' };
const ORDER = { order_id: 'o1', items: [{ id: 'p1', quantity: 2 }] };
const PRODUCT = { product_id: 'p1', title: 'Mug' };

/** A message of a phone by its type and body, and the content and further fields of its events. */
const FAMILIES: [string, object, object, object?][] = [
  ['text', { text: 'hi' }, { text: 'hi' }],
  ['location', LOCATION, LOCATION],
  ['contact', CONTACTS, CONTACTS],
  ['poll', POLL, POLL],
  ['event', EVENT, EVENT],
  ['order', ORDER, ORDER, { detail: ORDER }],
  ['product', PRODUCT, PRODUCT, { detail: PRODUCT }],
  ['unknown', { something: 'new' }, { something: 'new' }],
];

describe('a message of a phone', () => {
  for (const [type, body, content, more = {}] of FAMILIES) {
    test(`causes message.received and ${type}.received for a ${type}, each once and as documented`, async () => {
      const phone = pipeline.newPhone();
      await pipeline.sandbox.post('/phones', { phone, name: 'Ana' });
      await pipeline.sandbox.post(`/phones/${phone}/messages`, { to: instance.phone, type, ...body });
      const event = await pipeline.event(instance, `${type}.received`, (data) => data.phone === phone);
      const events = await pipeline.eventsOf(event.data.message_ids[0]);
      assert.deepEqual(
        events.map((each) => each.type),
        ['message.received', `${type}.received`],
      );
      assert.notEqual(events[0]!.event_id, events[1]!.event_id);
      assert.deepEqual(events[0]!.data, events[1]!.data);
      for (const each of events) {
        assert.ok(isEventType(each.type));
        assert.deepEqual(eventPayloads[each.type].parse(each.data), each.data);
      }
      const { data } = event;
      assert.deepEqual(
        [data.message_type, data.content, data.push_name, data.is_from_me, data.from],
        [type, content, 'Ana', false, `${phone}@s.whatsapp.net`],
      );
      for (const [field, value] of Object.entries(more)) assert.deepEqual(data[field], value);
      const read = await pipeline.call(instance, 'GET', `/message/${data.message_ids[0]}`);
      assert.deepEqual([read.body.message_type, read.body.content], [type, content]);
    });
  }

  test('says that it was forwarded, and a plain one does not', async () => {
    const phone = pipeline.newPhone();
    for (const forwarding_score of [0, 4]) {
      await pipeline.sandbox.post(`/phones/${phone}/messages`, {
        to: instance.phone,
        text: `score ${forwarding_score}`,
        forwarding_score,
      });
    }
    const of = (text: string) =>
      pipeline.event(instance, 'message.received', (data) => data.content.text === text);
    const marked = await of('score 4');
    assert.deepEqual([marked.data.is_forwarded, marked.data.forwarding_score], [true, 4]);
    assert.ok(!('is_forwarded' in (await of('score 0')).data));
  });

  test('may have the id of one in another chat: both are received once with their own media, and only their author changes each', async () => {
    const phones = [pipeline.newPhone(), pipeline.newPhone()];
    const id = `TAKEN${phones[0]}`;
    await pipeline.sandbox.post('/faults', { kind: 'repeat_events', instance: instance.id });
    const told: { data: { message_ids: string[]; media_id: string } }[] = [];
    for (const phone of phones) {
      const media_base64 = Buffer.from(`What ${phone} sends`).toString('base64');
      const file = { type: 'document', media_base64, mime_type: 'text/plain', caption: 'before' };
      await pipeline.sandbox.post(`/phones/${phone}/messages`, { to: instance.phone, id, ...file });
      told.push(await pipeline.event(instance, 'document.received', (data) => data.phone === phone));
      const edit = { to: instance.phone, type: 'edit', message_id: id, caption: `after ${phone}` };
      await pipeline.sandbox.post(`/phones/${phone}/messages`, edit);
      await pipeline.event(instance, 'message.edited', (data) => data.phone === phone);
    }
    await pipeline.sandbox.call('DELETE', '/faults');
    for (const [nth, phone] of phones.entries()) {
      const { message_ids, media_id } = told[nth]!.data;
      const { body } = await pipeline.call(instance, 'GET', `/message/${message_ids[0]}`);
      assert.deepEqual([body.network_id, body.content.caption], [id, `after ${phone}`]);
      const stored = await pipeline.call(instance, 'GET', `/media/${media_id}`);
      assert.equal(stored.text, `What ${phone} sends`);
      const { data } = (await pipeline.call(instance, 'GET', `/messages?chat_jid=${phone}`)).body;
      assert.equal(data.length, 1);
      const liked = { to: phone, message_id: id, emoji: '👍' };
      const { message_id: like } = await pipeline.send(instance, '/messages/reaction', liked);
      const { content } = (await pipeline.call(instance, 'GET', `/message/${like}`)).body;
      assert.equal(content.message_id, message_ids[0]);
      const answer = { to: phone, text: 'An answer', quoted_id: message_ids[0] };
      await pipeline.send(instance, '/messages/text', answer);
      await waitFor(async () => (await pipeline.shown(phone)).at(-1)?.quoted_id === id);
    }
  });

  test('reaches nobody when the phone is blocked', async () => {
    const phone = pipeline.newPhone();
    await pipeline.sandbox.post(`/phones/${instance.phone}/block`, { phone });
    await pipeline.sandbox.post(`/phones/${phone}/messages`, { to: instance.phone, text: 'unheard' });
    await pipeline.sandbox.post(`/phones/${instance.phone}/block`, { phone, blocked: false });
    await pipeline.sandbox.post(`/phones/${phone}/messages`, { to: instance.phone, text: 'heard' });
    const event = await pipeline.event(instance, 'text.received', (data) => data.phone === phone);
    assert.equal(event.data.content.text, 'heard');
  });
});

describe('the list of messages', () => {
  test('pages by keyset in both directions and filters', async () => {
    const other = await pipeline.connect();
    const [a, b] = [pipeline.newPhone(), pipeline.newPhone()];
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      const to = i % 2 ? b : a;
      ids.push((await pipeline.send(other, '/messages/text', { to, text: `text ${i}` })).message_id);
    }
    await pipeline.sandbox.post(`/phones/${a}/messages`, { to: other.phone, type: 'location', ...LOCATION });
    const inbound = (await pipeline.event(other, 'location.received')).data.message_ids[0];
    const all = [...ids, inbound];
    const list = (query: string) => pipeline.call(other, 'GET', `/messages?${query}`);
    const idsOf = (answer: { body: { data: { message_id: string }[] } }) =>
      answer.body.data.map((message) => message.message_id);

    const first = await list('limit=4');
    assert.deepEqual(idsOf(first), all.toReversed().slice(0, 4));
    const rest = await list(`limit=4&before=${first.body.next_cursor}`);
    assert.deepEqual([idsOf(rest), rest.body.next_cursor], [all.toReversed().slice(4), null]);
    const newer = await list(`limit=2&after=${all[0]}`);
    assert.deepEqual(idsOf(newer), all.slice(1, 3));
    assert.deepEqual(idsOf(await list(`limit=10&after=${newer.body.next_cursor}`)), all.slice(3));

    assert.deepEqual(idsOf(await list(`chat_jid=${b}`)), [ids[3], ids[1]]);
    assert.deepEqual(idsOf(await list('direction=inbound')), [inbound]);
    assert.deepEqual(idsOf(await list('type=location')), [inbound]);
    await waitFor(async () => idsOf(await list('status=read')).length === 5);
    assert.equal((await list(`before=${all[1]}&after=${all[0]}`)).status, 400);
    assert.equal((await list('chat_jid=nobody')).status, 400);
    assert.equal((await list('before=x')).status, 400);
  });
});
