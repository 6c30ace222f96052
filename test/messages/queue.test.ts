import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { createHeldDriver } from '../support/held-driver.ts';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

const held = createHeldDriver();
let pipeline: Sending;

before(async () => {
  // One send at a time at the network, so that the next ones wait here.
  pipeline = await startSending({ driver: { window: 1 }, held });
});
after(() => pipeline.close());

/** An instance whose first text is being sent until it is released; the others wait behind it. */
async function busyInstance(waiting: number) {
  const instance = await pipeline.connect();
  const phone = pipeline.newPhone();
  // A receipt would prove the send before its late answer does.
  await pipeline.sandbox.post('/phones', { phone, online: false });
  const { release, asked } = held.hold(instance.id);
  const texts = [];
  for (let i = 0; i <= waiting; i += 1) {
    texts.push(await pipeline.send(instance, '/messages/text', { to: phone, text: `text ${i}` }));
  }
  // The first one is at the network now.
  await waitFor(async () => (await pipeline.sandbox.get(`/ledger?to=${phone}`)).total === 1);
  return { instance, phone, texts, release, asked };
}

/** The texts on the phone once the first one is answered, the queue is empty and it is online. */
async function shownInTheEnd(busy: {
  instance: TestInstance;
  phone: string;
  release(): void;
}): Promise<string[]> {
  const { instance, phone } = busy;
  busy.release();
  await waitFor(async () => (await list(instance)).body.total === 0, 60_000);
  await pipeline.sandbox.post('/phones', { phone, online: true });
  return (await pipeline.shown(phone)).map((message) => message.text);
}

const list = (instance: TestInstance, query = '') => pipeline.call(instance, 'GET', `/queue${query}`);

describe('the queue', () => {
  test('lists and counts the waiting tasks, in the order of sending', async () => {
    const busy = await busyInstance(3);
    const { instance, phone, texts } = busy;
    const page = await list(instance, '?limit=2&page=2');
    assert.equal(page.body.total, 4);
    assert.deepEqual(
      page.body.data.map((task: { task_id: string }) => task.task_id),
      texts.slice(2).map((text) => text.task_id),
    );
    const { created_at, ...task } = page.body.data[0];
    assert.ok(Date.parse(created_at));
    assert.deepEqual(task, {
      task_id: texts[2].task_id,
      operation: 'text',
      message_id: texts[2].message_id,
      message_type: 'text',
      chat_jid: `${phone}@s.whatsapp.net`,
      typing_until: null,
    });
    assert.deepEqual((await pipeline.call(instance, 'GET', '/queue/count')).body, { count: 4 });
    assert.equal((await shownInTheEnd(busy)).length, 4);
  });

  test('lets one waiting task be cancelled: it is never sent and fails as cancelled', async () => {
    const busy = await busyInstance(2);
    const { instance, texts } = busy;
    const path = `/queue/${texts[1].task_id}`;
    const answer = await pipeline.call(instance, 'DELETE', path);
    assert.deepEqual([answer.status, answer.body], [200, { task_id: texts[1].task_id, cancelled: true }]);
    const [failed] = await pipeline.eventsOf(texts[1].message_id);
    assert.equal(failed!.type, 'text.delivery_failed');
    assert.deepEqual([failed!.data.reason, failed!.data.wire_state], ['cancelled', 'not_sent']);
    assert.equal((await pipeline.call(instance, 'DELETE', path)).status, 404);
    assert.deepEqual(await shownInTheEnd(busy), ['text 0', 'text 2']);
  });

  test('continues at once when the text that is being typed is cancelled', async () => {
    const instance = await pipeline.connect({ humanize_enabled: true });
    const phone = pipeline.newPhone();
    await pipeline.sandbox.post('/phones', { phone });
    // It is typed for ten minutes at least.
    const text = 'x'.repeat(6_000);
    const typed = await pipeline.send(instance, '/messages/text', { to: phone, text });
    await waitFor(async () => (await pipeline.sandbox.get(`/phones/${phone}`)).typing.length === 1);
    await pipeline.send(instance, '/messages/location', { to: phone, latitude: 1, longitude: 2 });
    const answer = await pipeline.call(instance, 'DELETE', `/queue/${typed.task_id}`);
    assert.deepEqual([answer.status, answer.body.cancelled], [200, true]);
    const shown = await waitFor(async () => {
      const messages = await pipeline.shown(phone);
      return messages.length > 0 && messages;
    });
    assert.deepEqual(
      shown.map(({ type }) => type),
      ['location'],
    );
    const events = await pipeline.eventsOf(typed.message_id);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['text.delivery_failed'],
    );
  });

  test('does not cancel a task that is being sent: 409', async () => {
    const { instance, texts, release } = await busyInstance(0);
    const answer = await pipeline.call(instance, 'DELETE', `/queue/${texts[0].task_id}`);
    assert.deepEqual([answer.status, answer.body.error_code], [409, 'CONFLICT']);
    const unknown = await pipeline.call(instance, 'DELETE', `/queue/${randomUUID()}`);
    assert.deepEqual([unknown.status, unknown.body.error_code], [404, 'NOT_FOUND']);
    release();
  });

  test('does not cancel a send whose answer was lost with its connection, as the recipient may have it: 409', async () => {
    const instance = await pipeline.connect();
    const phone = pipeline.newPhone();
    await pipeline.sandbox.post('/phones', { phone, online: false });
    const fault = { kind: 'silence', instance: instance.id, at: 'after_ledger', times: 1 };
    await pipeline.sandbox.post('/faults', fault);
    const { task_id: taskId } = await pipeline.send(instance, '/messages/text', { to: phone, text: 'once' });
    await waitFor(async () => (await pipeline.sandbox.get(`/ledger?to=${phone}`)).total === 1);
    await pipeline.sandbox.post('/faults', { kind: 'offline', instance: instance.id });
    await pipeline.call(instance, 'POST', '/disconnect');
    await waitFor(async () => (await pipeline.call(instance, 'GET', '')).body.state === 'DISCONNECTED');
    const answer = await pipeline.call(instance, 'DELETE', `/queue/${taskId}`);
    assert.deepEqual([answer.status, answer.body.error_code], [409, 'CONFLICT'], answer.text);
    assert.deepEqual((await pipeline.call(instance, 'DELETE', '/queue')).body, { cancelled: 0 });
    await pipeline.sandbox.call('DELETE', '/faults');
    await pipeline.call(instance, 'POST', '/connect');
    await waitFor(async () => (await pipeline.eventsOf(taskId)).length > 0);
    assert.deepEqual(
      (await pipeline.eventsOf(taskId)).map(({ type }) => type),
      ['message.sent'],
    );
  });

  test('is emptied at once; only the task that was being sent goes out', async () => {
    const busy = await busyInstance(5);
    const { instance, phone, texts } = busy;
    const answer = await pipeline.call(instance, 'DELETE', '/queue');
    assert.deepEqual([answer.status, answer.body], [200, { cancelled: 5 }]);
    await pipeline.send(instance, '/messages/text', { to: phone, text: 'after' });
    assert.deepEqual(await shownInTheEnd(busy), ['text 0', 'after']);
    for (const { message_id: id } of texts.slice(1)) {
      assert.deepEqual(
        (await pipeline.eventsOf(id)).map((event) => event.type),
        ['text.delivery_failed'],
      );
    }
  });

  test('can be emptied while its instance is not connected, and nothing is sent later', async () => {
    const instance = await pipeline.connect();
    const phone = pipeline.newPhone();
    await pipeline.sandbox.post('/faults', { kind: 'offline', instance: instance.id });
    // Within the grace period the instance still counts as connected.
    for (const text of ['a', 'b']) await pipeline.send(instance, '/messages/text', { to: phone, text });
    await pipeline.call(instance, 'POST', '/disconnect');
    await waitFor(async () => (await pipeline.call(instance, 'GET', '')).body.state === 'DISCONNECTED');
    assert.deepEqual((await pipeline.call(instance, 'DELETE', '/queue')).body, { cancelled: 2 });
    await pipeline.sandbox.call('DELETE', '/faults');
    await pipeline.call(instance, 'POST', '/connect');
    await waitFor(async () => (await pipeline.call(instance, 'GET', '')).body.state === 'CONNECTED');
    await pipeline.send(instance, '/messages/text', { to: phone, text: 'c' });
    await waitFor(async () => (await pipeline.shown(phone)).length > 0);
    assert.deepEqual(
      (await pipeline.shown(phone)).map((message) => message.text),
      ['c'],
    );
  });

  test('cancels a waiting edit by its own task id and leaves the message alone', async () => {
    const busy = await busyInstance(0);
    const { instance, texts } = busy;
    const edit = await pipeline.call(instance, 'PUT', `/messages/${texts[0].message_id}/edit`, {
      content: 'new',
    });
    const answer = await pipeline.call(instance, 'DELETE', `/queue/${edit.body.task_id}`);
    assert.equal(answer.status, 200);
    const failed = await pipeline.event(
      instance,
      'text.delivery_failed',
      (data) => data.message_ids[0] === texts[0].message_id,
    );
    assert.deepEqual([failed.data.operation, failed.data.reason], ['edit', 'cancelled']);
    assert.deepEqual(await shownInTheEnd(busy), ['text 0']);
  });

  test('keeps the edit of a message that was deleted before its turn from the network', async () => {
    const busy = await busyInstance(0);
    const { instance, phone, texts, asked } = busy;
    const [{ message_id: id }] = texts;
    const removed = await pipeline.call(instance, 'DELETE', `/messages/${id}`, { to: phone, message_id: id });
    const edited = await pipeline.call(instance, 'PUT', `/messages/${id}/edit`, { content: 'new' });
    assert.deepEqual([removed.status, edited.status], [202, 202]);
    await shownInTheEnd(busy);
    assert.deepEqual(asked, ['text', 'delete']);
    const failed = await pipeline.event(
      instance,
      'text.delivery_failed',
      (data) => data.message_ids[0] === id,
    );
    const { operation, reason, wire_state } = failed.data;
    assert.deepEqual([operation, reason, wire_state], ['edit', 'message_not_found', 'not_sent']);
  });

  test('keeps the edit of a message that the network has just refused from the network', async () => {
    const busy = await busyInstance(1);
    const { instance, texts, asked } = busy;
    const refusal = { kind: 'refuse', reason: 'not_now', account: instance.phone, times: 1 };
    await pipeline.sandbox.post('/faults', refusal);
    const path = `/messages/${texts[1].message_id}/edit`;
    assert.equal((await pipeline.call(instance, 'PUT', path, { content: 'new' })).status, 202);
    assert.deepEqual(await shownInTheEnd(busy), ['text 0']);
    assert.deepEqual(asked, ['text', 'text']);
    const failures = await pipeline.eventsOf(texts[1].message_id);
    assert.deepEqual(
      failures.map(({ data }) => [data.operation ?? 'send', data.reason]),
      [
        ['send', 'not_now'],
        ['edit', 'message_not_found'],
      ],
    );
  });

  test('keeps the edit and the delete of a cancelled message from the network', async () => {
    const busy = await busyInstance(1);
    const { instance, phone, texts, asked } = busy;
    const [, cancelled] = texts;
    const path = `/messages/${cancelled.message_id}`;
    const changes = [
      await pipeline.call(instance, 'PUT', `${path}/edit`, { content: 'new' }),
      await pipeline.call(instance, 'DELETE', path, { to: phone, message_id: cancelled.message_id }),
    ];
    assert.deepEqual(
      changes.map(({ status }) => status),
      [202, 202],
    );
    assert.equal((await pipeline.call(instance, 'DELETE', `/queue/${cancelled.task_id}`)).status, 200);
    assert.deepEqual(await shownInTheEnd(busy), ['text 0']);
    assert.deepEqual(asked, ['text']);
    const events = await pipeline.eventsOf(cancelled.message_id);
    const failures = events.filter(({ type }) => type === 'text.delivery_failed');
    assert.deepEqual(
      failures.map(({ data }) => [data.operation ?? 'send', data.reason, data.wire_state]),
      [
        ['send', 'cancelled', 'not_sent'],
        ['edit', 'message_not_found', 'not_sent'],
        ['delete', 'message_not_found', 'not_sent'],
      ],
    );
  });
});
