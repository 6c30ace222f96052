import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { NetworkReceipt } from '@posthorn/core/network/driver.ts';
import { SendRefused } from '@posthorn/core/network/driver.ts';
import { jid, openInstance, pairInstance, startSandbox, textMessage, until } from './sandbox-harness.ts';

const OURS = '5511988880001';
const THEIRS = '5511977770001';

function kindsOf(receipts: readonly NetworkReceipt[], networkId: string): string[] {
  return receipts.filter((receipt) => receipt.networkId === networkId).map(({ kind }) => kind);
}

test('a text shows on a phone that nobody created, which receives it at once and reads it after a second', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  const sentAt = Date.now();
  const id = await instance.sendText(THEIRS, 'hello');
  const answeredAt = Date.now();
  await until(() => instance.receipts.length > 0);
  assert.deepEqual(
    { ...instance.receipts[0], at: null },
    { networkId: id, kind: 'delivered', chat: jid(THEIRS), by: jid(THEIRS), at: null },
  );
  await until(() => instance.receipts.length === 2);
  assert.ok(Date.now() - sentAt >= 950, 'read too early');
  assert.deepEqual(kindsOf(instance.receipts, id), ['delivered', 'read']);

  const { messages } = await sandbox.get(`/phones/${THEIRS}/messages?chat=${OURS}`);
  assert.equal(messages.length, 1);
  const { time, ...shown } = messages[0];
  assert.ok(sentAt <= Date.parse(time) && Date.parse(time) <= answeredAt, time);
  assert.deepEqual(shown, {
    id,
    chat: jid(OURS),
    from: jid(OURS),
    from_me: false,
    type: 'text',
    text: 'hello',
    content: { text: 'hello' },
    status: 'read',
    edited: false,
    deleted: false,
    starred: false,
    pinned: false,
    reactions: [],
  });
});

test('quoted id and mentions arrive with the message', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  const content = { text: 'see @5511966660001', mentions: [jid('5511966660001')] };
  await instance.session.send({ ...textMessage(THEIRS, ''), content, quotedId: '3EB0ABC' });
  const { messages } = await sandbox.get(`/phones/${THEIRS}/messages`);
  assert.deepEqual(messages[0].content, content);
  assert.equal(messages[0].quoted_id, '3EB0ABC');
});

test('an offline phone gets its messages when it comes online, in order', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  await sandbox.post('/phones', { phone: THEIRS, online: false, read_delay_ms: 0 });
  const ids = [];
  for (let i = 0; i < 5; i++) ids.push(await instance.sendText(THEIRS, `text ${i}`));
  await delay(60);
  assert.deepEqual(instance.receipts, []);
  assert.deepEqual((await sandbox.get(`/phones/${THEIRS}/messages`)).messages, []);
  assert.equal((await sandbox.get(`/phones/${THEIRS}`)).waiting, 5);

  await sandbox.post('/phones', { phone: THEIRS, online: true });
  await until(() => instance.receipts.length === 10);
  const byKind = (kind: string) => instance.receipts.filter((r) => r.kind === kind).map((r) => r.networkId);
  assert.deepEqual(byKind('delivered'), ids);
  assert.deepEqual(byKind('read'), ids);
  const { messages } = await sandbox.get(`/phones/${THEIRS}/messages`);
  assert.deepEqual(
    messages.map((message: { id: string }) => message.id),
    ids,
  );
});

test('receipts are given again, in order, until they are recorded', async (t) => {
  const sandbox = await startSandbox(t);
  await sandbox.post('/defaults', { read_delay_ms: 0 });
  const refusing = await pairInstance(t, sandbox, OURS, {
    sink: {
      async receipts() {
        throw new Error('the database is away');
      },
    },
  });
  const ids = [];
  for (let i = 0; i < 20; i++) ids.push(await refusing.sendText(THEIRS, `text ${i}`));
  await until(async () => (await sandbox.get(`/phones/${THEIRS}`)).unread === 0);
  await refusing.session.close();

  const { credentials } = refusing.identity!;
  for (const attempt of ['not acked', 'acked']) {
    const seen: NetworkReceipt[] = [];
    const held = Promise.withResolvers<void>();
    const instance = await openInstance(t, sandbox.url, {
      credentials,
      sink: {
        async receipts(receipts) {
          seen.push(...receipts);
          if (attempt === 'not acked') await held.promise;
        },
      },
    });
    await until(() => seen.length === 40);
    for (const id of ids) assert.deepEqual(kindsOf(seen, id), ['delivered', 'read']);
    const delivered = seen.filter(({ kind }) => kind === 'delivered').map(({ networkId }) => networkId);
    assert.deepEqual(delivered, ids);
    if (attempt === 'not acked') {
      // Its owner dies while it records: nothing was acknowledged.
      await sandbox.post('/faults', { kind: 'drop' });
      await until(() => instance.ended.length > 0);
      held.resolve();
    } else {
      await instance.session.close();
    }
  }

  const last = await openInstance(t, sandbox.url, { credentials });
  await until(() => last.connected);
  await delay(50);
  assert.deepEqual(last.receipts, []);
});

test('a recorder that fails once is handed the same again, and then everything after it', async (t) => {
  const sandbox = await startSandbox(t, {});
  await sandbox.post('/defaults', { auto_read: false });
  const recorded: string[] = [];
  let failures = 1;
  const instance = await pairInstance(t, sandbox, OURS, {
    sink: {
      async inbound(messages) {
        if (failures-- > 0) throw new Error('deadlock');
        recorded.push(...messages.map(({ content }) => String(content.text)));
      },
    },
  });
  for (const text of ['one', 'two', 'three']) {
    await sandbox.post(`/phones/${THEIRS}/messages`, { to: OURS, text });
  }
  await until(() => recorded.length === 3);
  assert.deepEqual(recorded, ['one', 'two', 'three']);
  assert.deepEqual(instance.ended, []);
});

test('a long absence is replayed whole and in order', async (t) => {
  const sandbox = await startSandbox(t);
  const first = await pairInstance(t, sandbox, OURS);
  await first.session.close();
  const total = 5000;
  for (let start = 0; start < total; start += 250) {
    await Promise.all(
      Array.from({ length: 250 }, (_, i) =>
        sandbox.post(`/phones/${THEIRS}/messages`, { to: OURS, text: `${start + i}`, id: `M${start + i}` }),
      ),
    );
  }
  const again = await openInstance(t, sandbox.url, { credentials: first.identity!.credentials });
  await until(() => again.inbound.length >= total);
  const shown = (await sandbox.get(`/phones/${THEIRS}/messages?limit=10000`)).messages;
  assert.deepEqual(
    again.inbound.map(({ networkId }) => networkId),
    shown.map((message: { id: string }) => message.id),
  );
});

test('the same network id twice is one message, acknowledged both times and counted', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  const message = textMessage(THEIRS, 'once');
  const first = await instance.session.send(message);
  const second = await instance.session.send(message);
  const third = await instance.session.send({ ...message, content: { text: 'other words' } });
  assert.deepEqual(second, first);
  assert.deepEqual(third, first);
  const { entries, total } = await sandbox.get('/ledger');
  assert.equal(total, 1);
  assert.equal(entries[0].times_seen, 3);
  assert.equal((await sandbox.get('/ledger/summary')).duplicates, 2);
  assert.equal((await sandbox.get(`/phones/${THEIRS}/messages`)).messages.length, 1);
});

test('two accounts may use the same network id', async (t) => {
  const sandbox = await startSandbox(t);
  const one = await pairInstance(t, sandbox, OURS);
  const two = await pairInstance(t, sandbox, '5511988880002');
  const id = await one.sendText(THEIRS, 'from one');
  await two.sendText(THEIRS, 'from two', id);
  assert.equal((await sandbox.get(`/ledger?phone=${THEIRS}`)).total, 2);
});

test('a phone without read receipts reports that it received a message and nothing more', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  await sandbox.post('/phones', { phone: THEIRS, read_receipts: false, read_delay_ms: 0 });
  await instance.sendText(THEIRS, 'secretly read');
  await until(async () => (await sandbox.get(`/phones/${THEIRS}`)).unread === 0);
  await delay(40);
  assert.deepEqual(
    instance.receipts.map(({ kind }) => kind),
    ['delivered'],
  );
});

test('a phone that does not read by itself reads when its owner does', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  await sandbox.post('/defaults', { auto_read: false });
  const first = await instance.sendText(THEIRS, 'one');
  const second = await instance.sendText(THEIRS, 'two');
  await until(() => instance.receipts.length === 2);
  assert.deepEqual(await sandbox.post(`/phones/${THEIRS}/read`, { ids: [second] }), { read: 1 });
  await until(() => kindsOf(instance.receipts, second).includes('read'));
  assert.deepEqual(await sandbox.post(`/phones/${THEIRS}/read`, { chat: OURS }), { read: 1 });
  await until(() => kindsOf(instance.receipts, first).includes('read'));
  assert.deepEqual(await sandbox.post(`/phones/${THEIRS}/read`, {}), { read: 0 });
});

test('a phone with a delivery delay gets the message that much later', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  await sandbox.post('/phones', { phone: THEIRS, delivery_delay_ms: 200, auto_read: false });
  const sentAt = Date.now();
  await instance.sendText(THEIRS, 'slow line');
  await until(() => instance.receipts.length === 1);
  assert.ok(Date.now() - sentAt >= 190);
});

test('a phone with an automatic reply answers each text with a text', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  await sandbox.post('/phones', { phone: THEIRS, name: 'Rui', auto_reply: 'I am away', read_delay_ms: 0 });
  await instance.sendText(THEIRS, 'one');
  await instance.sendText(THEIRS, 'two');
  await until(() => instance.inbound.length === 2);
  const { networkId, at, ...reply } = instance.inbound[0]!;
  assert.ok(networkId.length >= 20 && at instanceof Date);
  assert.deepEqual(reply, {
    chat: jid(THEIRS),
    from: jid(THEIRS),
    pushName: 'Rui',
    type: 'text',
    content: { text: 'I am away' },
    quotedId: undefined,
  });
});

test('two phones that reply automatically do not talk for ever', async (t) => {
  const sandbox = await startSandbox(t);
  await sandbox.post('/defaults', { auto_reply: 'away', auto_read: false });
  await sandbox.post(`/phones/${THEIRS}/messages`, { to: OURS, text: 'hello' });
  await delay(50);
  assert.equal((await sandbox.get(`/phones/${THEIRS}/messages`)).total, 2);
});

test('a message of a phone reaches the instance, and is delivered once the instance has recorded it', async (t) => {
  const sandbox = await startSandbox(t);
  const recording = Promise.withResolvers<void>();
  const received: string[] = [];
  const instance = await pairInstance(t, sandbox, OURS, {
    sink: {
      async inbound(messages) {
        received.push(...messages.map(({ networkId }) => networkId));
        await recording.promise;
      },
    },
  });
  const sent = await sandbox.post(`/phones/${THEIRS}/messages`, { to: OURS, type: 'text', text: 'hi' });
  const statusOf = async () => (await sandbox.get(`/phones/${THEIRS}/messages`)).messages[0].status;
  await until(() => received.length === 1);
  assert.deepEqual(received, [sent.id]);
  assert.equal(await statusOf(), 'sent');
  recording.resolve();
  await until(async () => (await statusOf()) === 'delivered');
  await instance.session.markRead(jid(THEIRS), [sent.id]);
  assert.equal(await statusOf(), 'read');
});

test('an instance writes to another, which receives the message when it is there and marks it as read', async (t) => {
  const sandbox = await startSandbox(t);
  const one = await pairInstance(t, sandbox, OURS);
  const two = await pairInstance(t, sandbox, '5511988880002');
  await two.session.close();
  const id = await one.sendText('5511988880002', 'between us');
  await delay(40);
  assert.deepEqual(one.receipts, []);

  const back = await openInstance(t, sandbox.url, { credentials: two.identity!.credentials });
  await until(() => back.inbound.length === 1);
  assert.equal(back.inbound[0]!.networkId, id);
  assert.equal(back.inbound[0]!.chat, jid(OURS));
  assert.equal(back.inbound[0]!.pushName, one.identity!.pushName);
  await until(() => one.receipts.length === 1);
  await delay(40);
  assert.deepEqual(kindsOf(one.receipts, id), ['delivered']);
  await back.session.markRead(jid(OURS), [id]);
  await until(() => one.receipts.length === 2);
  assert.deepEqual(kindsOf(one.receipts, id), ['delivered', 'read']);
  await back.session.markRead(jid(OURS), [id, 'UNKNOWN']);
  await delay(20);
  assert.equal(one.receipts.length, 2);
});

test('messages that a logged-out instance never took are shown by its phone', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  await instance.session.close();
  await sandbox.post(`/phones/${THEIRS}/messages`, { to: OURS, text: 'are you there' });
  assert.equal((await sandbox.get(`/phones/${OURS}/messages`)).total, 0);
  await pairInstance(t, sandbox, '5511988880002');
  const again = await openInstance(t, sandbox.url, {
    credentials: instance.identity!.credentials,
    sink: { inbound: () => new Promise(() => {}) },
  });
  await until(() => again.connected);
  await again.session.logout();
  assert.equal((await sandbox.get(`/phones/${OURS}/messages`)).messages[0].text, 'are you there');
});

test('a message that the network cannot carry is refused with the reason', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  const message = textMessage(THEIRS, 'x');
  const refusals: [object, string][] = [
    [{ to: 'nobody' }, 'invalid_recipient'],
    [{ type: 'smoke_signal' }, 'unsupported_type'],
    [{ content: { text: '' } }, 'invalid_content'],
    [{ content: {} }, 'invalid_content'],
  ];
  for (const [change, reason] of refusals) {
    await assert.rejects(instance.session.send({ ...message, ...change }), (error: unknown) => {
      assert.ok(error instanceof SendRefused);
      assert.equal(error.reason, reason);
      return true;
    });
  }
  const summary = await sandbox.get('/ledger/summary');
  assert.equal(summary.total, 0);
  assert.equal(summary.refused, 4);
});

test('the typing indicator shows on the phone', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  await instance.session.typing(jid(THEIRS));
  await instance.sendText(THEIRS, 'typed');
  const { typing } = await sandbox.get(`/phones/${THEIRS}`);
  assert.equal(typing.length, 1);
  assert.equal(typing[0].from, jid(OURS));
});
