import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventPayloads } from '@posthorn/contract/events.ts';
import { waitFor } from '../support/process.ts';
import { seedInstance } from '../support/seed.ts';
import { type LoggedEvent, type Sending, startSending, type TestInstance } from '../support/sending.ts';

let pipeline: Sending;
let instance: TestInstance;

before(async () => {
  pipeline = await startSending();
  instance = await pipeline.connect();
});
after(() => pipeline.close());

const post = (path: string, body?: object, who = instance) => pipeline.call(who, 'POST', path, body);
const subscribe = async (jid: string) => {
  const answer = await post(`/presence/${encodeURIComponent(jid)}/subscribe`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
};
const types = (phone: string, state: string, to: string) =>
  pipeline.sandbox.post(`/phones/${phone}/presence`, { state, to });
const updated = (fits: (data: LoggedEvent['data']) => boolean) =>
  pipeline.event(instance, 'presence.updated', fits);

describe('presence of others', () => {
  test('causes events once it is subscribed to: online, offline, typing', async () => {
    const phone = pipeline.newPhone();
    const jid = `${phone}@s.whatsapp.net`;
    await pipeline.sandbox.post('/phones', { phone, online: true });
    assert.deepEqual(await subscribe(`+${phone}`), { jid, subscribed: true });
    await pipeline.sandbox.post('/phones', { phone, online: false });
    const gone = await updated((data) => data.jid === jid && data.state === 'unavailable');
    assert.deepEqual(eventPayloads['presence.updated'].parse(gone.data), gone.data);
    assert.deepEqual([gone.data.phone, gone.data.chat], [phone, null]);
    assert.ok(Date.parse(gone.data.last_seen) > Date.now() - 60_000);
    await pipeline.sandbox.post('/phones', { phone, online: true });
    const back = await updated((data) => data.jid === jid && data.state === 'available');
    assert.equal(back.data.last_seen, null);
    await types(phone, 'composing', instance.phone);
    const typing = await updated((data) => data.jid === jid && data.state === 'composing');
    assert.deepEqual([typing.data.chat, typing.data.phone], [jid, phone]);
  });

  test('continues after the connection was lost and came back', async () => {
    const phone = pipeline.newPhone();
    await pipeline.sandbox.post('/phones', { phone, online: true });
    await subscribe(phone);
    const logins = async () =>
      (await pipeline.sandbox.get('/sessions')).accounts.find(
        (account: { phone: string }) => account.phone === instance.phone,
      );
    const before = (await logins()).logins;
    await pipeline.sandbox.post('/faults', { kind: 'drop', at: 'now', instance: instance.id, times: 1 });
    await waitFor(async () => {
      const { logins: count, connected } = await logins();
      return connected && count > before;
    });
    const told = waitFor(async () => {
      await types(phone, 'composing', instance.phone);
      const { rows } = await pipeline.api.parts.db.query(
        `SELECT 1 FROM events WHERE type = 'presence.updated' AND data->>'phone' = $1 AND data->>'state' = 'composing'`,
        [phone],
      );
      return rows.length > 0;
    });
    await told;
  });
  test('in a group reaches a subscriber of the group, under the address that the person has there', async () => {
    const phone = pipeline.newPhone();
    const { lid } = await pipeline.sandbox.post('/phones', { phone, lid: 'at_once' });
    const { jid: group } = await pipeline.sandbox.post('/groups', {
      name: 'G',
      participants: [phone, instance.phone],
    });
    await waitFor(
      async () => (await pipeline.call(instance, 'GET', `/lids/${lid}`)).status === 200 || undefined,
    );
    await subscribe(group);
    await types(phone, 'recording', group);
    const { data } = await updated((one) => one.chat === group);
    assert.deepEqual([data.jid, data.phone, data.state], [lid, phone, 'recording']);
  });

  test('causes no event without a subscription', async () => {
    const [quiet, loud] = [pipeline.newPhone(), pipeline.newPhone()];
    await subscribe(loud);
    await types(quiet, 'composing', instance.phone);
    await types(loud, 'composing', instance.phone);
    await updated((data) => data.phone === loud);
    const { rows } = await pipeline.api.parts.db.query(
      `SELECT 1 FROM events WHERE type = 'presence.updated' AND data->>'phone' = $1`,
      [quiet],
    );
    assert.equal(rows.length, 0);
  });

  test('causes few events when it floods, and the newest of each person counts', async () => {
    const phone = pipeline.newPhone();
    await subscribe(phone);
    const sinceMs = performance.now();
    for (let i = 0; i < 200; i += 1)
      await types(phone, i % 2 === 0 ? 'composing' : 'recording', instance.phone);
    await types(phone, 'paused', instance.phone);
    await updated((data) => data.phone === phone && data.state === 'paused');
    const { rows } = await pipeline.api.parts.db.query<{ state: string }>(
      `SELECT data->>'state' AS state FROM events WHERE type = 'presence.updated' AND data->>'phone' = $1
       ORDER BY tx, id`,
      [phone],
    );
    assert.equal(rows.at(-1)?.state, 'paused');
    const seconds = (performance.now() - sinceMs) / 1_000;
    assert.ok(rows.length <= seconds + 2, `${rows.length} events in ${seconds} s`);
  });
});

describe('presence of the instance', () => {
  test('is shown to others: online or not, and typing in a chat', async () => {
    const phone = pipeline.newPhone();
    const shown = async (number: string) => (await pipeline.sandbox.call('GET', `/phones/${number}`)).body;
    for (const state of ['available', 'unavailable']) {
      assert.deepEqual((await post('/presence', { state })).body, { state, chat_jid: null });
      assert.equal((await shown(instance.phone)).presence, state);
    }
    const chat_jid = `${phone}@s.whatsapp.net`;
    assert.deepEqual((await post('/presence', { state: 'composing', chat_jid: phone })).body, {
      state: 'composing',
      chat_jid,
    });
    assert.deepEqual(
      (await shown(phone)).typing.map(({ from }: { from: string }) => from),
      [instance.jid],
    );
    await post('/presence', { state: 'paused', chat_jid });
    assert.deepEqual((await shown(phone)).typing, []);
  });

  test('reaches another instance that subscribed', async () => {
    const other = await pipeline.connect();
    const answer = await post(`/presence/${instance.phone}/subscribe`, undefined, other);
    assert.equal(answer.status, 200);
    await post('/presence', { state: 'recording', chat_jid: other.phone });
    const { data } = await pipeline.event(other, 'presence.updated', (one) => one.state === 'recording');
    assert.deepEqual([data.phone, data.chat], [instance.phone, instance.jid]);
  });

  for (const [body, code] of [
    [{ state: 'sleeping' }, 'BAD_REQUEST'],
    [{}, 'MISSING_FIELD'],
    [{ state: 'composing' }, 'MISSING_FIELD'],
    [{ state: 'available', chat_jid: '5511999990000' }, 'BAD_REQUEST'],
    [{ state: 'paused', chat_jid: '12' }, 'INVALID_PHONE'],
    [{ state: 'paused', chat_jid: 'x@y' }, 'INVALID_RECIPIENT'],
  ] as const)
    test(`${JSON.stringify(body)}: 400 ${code}`, async () => {
      const answer = await post('/presence', body);
      assert.deepEqual([answer.status, answer.body.error_code], [400, code], answer.text);
    });

  test('400 for an invalid address, and 404 for an unknown chat or person', async () => {
    for (const [jid, status, code] of [
      ['12', 400, 'INVALID_PHONE'],
      ['x@y', 400, 'INVALID_RECIPIENT'],
      ['120363099999999999@g.us', 404, 'NOT_FOUND'],
      ['199999999999999@lid', 404, 'NOT_FOUND'],
    ] as const) {
      const answer = await post(`/presence/${encodeURIComponent(jid)}/subscribe`);
      assert.deepEqual([answer.status, answer.body.error_code], [status, code], jid);
    }
    const answer = await post('/presence', { state: 'composing', chat_jid: '120363099999999999@g.us' });
    assert.deepEqual([answer.status, answer.body.error_code], [404, 'NOT_FOUND']);
  });

  for (const [state, code] of [
    ['DISCONNECTED', 'INSTANCE_NOT_CONNECTED'],
    ['BANNED', 'INSTANCE_BANNED'],
    ['HARD_PAUSED', 'INSTANCE_HARD_PAUSED'],
  ] as const)
    test(`409 ${code} while the instance is ${state}`, async () => {
      const id = await seedInstance(pipeline.api.parts.db, pipeline.company.companyId, { state });
      const other = { ...instance, id };
      for (const answer of [
        await post('/presence', { state: 'available' }, other),
        await post('/presence/5511999990000/subscribe', undefined, other),
      ])
        assert.deepEqual([answer.status, answer.body.error_code], [409, code]);
    });
});
