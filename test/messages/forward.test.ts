import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

let pipeline: Sending;
let instance: TestInstance;

before(async () => {
  pipeline = await startSending({ worker: { deferral: { expiresMs: 20_000, retryMs: 100 } } });
  instance = await pipeline.connect();
});
after(() => pipeline.close());

async function received(text: string): Promise<{ id: string; phone: string; networkId: string }> {
  const phone = pipeline.newPhone();
  const sent = await pipeline.sandbox.post(`/phones/${phone}/messages`, { to: instance.phone, text });
  const event = await pipeline.event(instance, 'text.received', (data) => data.phone === phone);
  return { id: event.data.message_ids[0], phone, networkId: sent.id };
}

async function lastEvent(messageId: string, type: string) {
  return waitFor(
    async () => (await pipeline.eventsOf(messageId)).find((event) => event.type === type),
    undefined,
    { what: type },
  );
}

describe('forwarding', () => {
  test('raises the forwarding score by one for a received message, and again for a forward of it', async () => {
    const source = await received('pass it on');
    const [second, third] = [pipeline.newPhone(), pipeline.newPhone()];
    const first = await pipeline.send(instance, '/messages/forward', {
      to: second,
      forward_chat_id: source.phone,
      message_id: source.id,
    });
    const sent = await lastEvent(first.message_id, 'message.sent');
    assert.deepEqual(
      [sent.data.message_type, sent.data.is_forwarded, sent.data.forwarding_score],
      ['text', true, 1],
    );
    const [shown] = await pipeline.shown(second);
    assert.deepEqual([shown.text, shown.is_forwarded, shown.forwarding_score], ['pass it on', true, 1]);
    await lastEvent(first.message_id, 'message.read');
    const again = await pipeline.send(instance, '/messages/forward', {
      to: third,
      forward_chat_id: second,
      message_id: first.message_id,
    });
    assert.equal((await lastEvent(again.message_id, 'message.sent')).data.forwarding_score, 2);
    assert.equal((await pipeline.shown(third))[0].forwarding_score, 2);
  });

  test('makes a clean copy of a message that the instance itself sent', async () => {
    const [first, second] = [pipeline.newPhone(), pipeline.newPhone()];
    const source = await pipeline.send(instance, '/messages/text', { to: first, text: 'mine' });
    await lastEvent(source.message_id, 'message.read');
    const copy = await pipeline.send(instance, '/messages/forward', {
      to: second,
      forward_chat_id: first,
      message_id: source.message_id,
    });
    const sent = await lastEvent(copy.message_id, 'message.sent');
    assert.ok(!('is_forwarded' in sent.data) && !('forwarding_score' in sent.data));
    const [shown] = await pipeline.shown(second);
    assert.equal(shown.text, 'mine');
    assert.ok(!('is_forwarded' in shown));
  });

  test('is 404 for a message that is not in the history, is in another chat, or never left', async () => {
    const source = await received('here');
    const forward = (body: object) =>
      pipeline.call(instance, 'POST', '/messages/forward', { to: pipeline.newPhone(), ...body });
    const failing = pipeline.newPhone();
    await pipeline.sandbox.post('/faults', { kind: 'refuse', phone: failing, times: 1 });
    const failed = await pipeline.send(instance, '/messages/text', { to: failing, text: 'never' });
    await lastEvent(failed.message_id, 'text.delivery_failed');
    for (const body of [
      { forward_chat_id: source.phone, message_id: randomUUID() },
      { forward_chat_id: source.phone, message_id: '3EB0DEADBEEF' },
      { forward_chat_id: pipeline.newPhone(), message_id: source.id },
      { forward_chat_id: failing, message_id: failed.message_id },
    ]) {
      const answer = await forward(body);
      assert.deepEqual([answer.status, answer.body.error_code], [404, 'MESSAGE_NOT_FOUND']);
    }
  });

  test('is 422 and queues nothing when its source was deleted for everyone', async () => {
    const source = await received('gone');
    await pipeline.sandbox.post(`/phones/${source.phone}/messages`, {
      to: instance.phone,
      type: 'delete',
      message_id: source.networkId,
    });
    await pipeline.event(instance, 'text.deleted', (data) => data.message_ids[0] === source.id);
    const to = pipeline.newPhone();
    const answer = await pipeline.call(instance, 'POST', '/messages/forward', {
      to,
      forward_chat_id: source.phone,
      message_id: source.id,
    });
    assert.deepEqual([answer.status, answer.body.error_code], [422, 'FORWARD_SOURCE_DELETED']);
    assert.deepEqual(await pipeline.shown(to), []);
  });

  for (const reason of [
    'forward_source_not_found',
    'forward_source_deleted',
    'forward_source_media_unavailable',
  ]) {
    test(`fails with ${reason} when only the device knows it, in the family of the source`, async () => {
      const source = await received('fails');
      const to = pipeline.newPhone();
      await pipeline.sandbox.post('/faults', { kind: 'refuse', reason, phone: to, times: 1 });
      const accepted = await pipeline.send(instance, '/messages/forward', {
        to,
        forward_chat_id: source.phone,
        message_id: source.id,
      });
      const failed = await lastEvent(accepted.message_id, 'text.delivery_failed');
      assert.deepEqual(
        [failed.data.reason, failed.data.wire_state, failed.data.idempotency_key],
        [reason, 'not_sent', accepted.idempotency_key],
      );
      assert.equal((await pipeline.eventsOf(accepted.message_id)).length, 1);
    });
  }

  test('fails with forward_source_deleted when its source is deleted after the 202', async () => {
    const source = await received('soon gone');
    // The delete reaches the network; the instance does not learn of it before it forwards.
    await pipeline.sandbox.post('/faults', { kind: 'offline', instance: instance.id });
    await pipeline.sandbox.post(`/phones/${source.phone}/messages`, {
      to: instance.phone,
      type: 'delete',
      message_id: source.networkId,
    });
    const accepted = await pipeline.send(instance, '/messages/forward', {
      to: pipeline.newPhone(),
      forward_chat_id: source.phone,
      message_id: source.id,
    });
    await pipeline.sandbox.call('DELETE', '/faults');
    const failed = await lastEvent(accepted.message_id, 'text.delivery_failed');
    assert.equal(failed.data.reason, 'forward_source_deleted');
  });

  test('behind an edit that waits is shown with the new words, as it is sent', async () => {
    const theirs = await received('old');
    const phone = pipeline.newPhone();
    const ours = await pipeline.send(instance, '/messages/text', { to: phone, text: 'old' });
    await lastEvent(ours.message_id, 'message.read');
    await pipeline.sandbox.post('/faults', { kind: 'offline', instance: instance.id });
    await pipeline.sandbox.post(`/phones/${theirs.phone}/messages`, {
      to: instance.phone,
      type: 'edit',
      message_id: theirs.networkId,
      text: 'new',
    });
    const edit = await pipeline.call(instance, 'PUT', `/messages/${ours.message_id}/edit`, {
      content: 'new',
    });
    assert.equal(edit.status, 202);
    const recipients = [pipeline.newPhone(), pipeline.newPhone()] as const;
    const [first, second] = await Promise.all([
      pipeline.send(instance, '/messages/forward', {
        to: recipients[0],
        forward_chat_id: phone,
        message_id: ours.message_id,
      }),
      pipeline.send(instance, '/messages/forward', {
        to: recipients[1],
        forward_chat_id: theirs.phone,
        message_id: theirs.id,
      }),
    ]);
    await pipeline.sandbox.call('DELETE', '/faults');
    for (const [index, { message_id: id }] of [first, second].entries()) {
      await lastEvent(id, 'message.sent');
      const [shown] = await pipeline.shown(recipients[index]!);
      const { body } = await pipeline.call(instance, 'GET', `/message/${id}`);
      assert.deepEqual([shown.text, body.content], ['new', { text: 'new' }]);
    }
  });

  test('that the network cannot do now is tried again, and goes out when it can', async () => {
    const source = await received('later');
    const to = pipeline.newPhone();
    await pipeline.sandbox.post('/faults', { kind: 'refuse', reason: 'forward_unavailable', phone: to });
    const accepted = await pipeline.send(instance, '/messages/forward', {
      to,
      forward_chat_id: source.phone,
      message_id: source.id,
    });
    // Other messages do not wait for it.
    const other = await pipeline.send(instance, '/messages/text', {
      to: pipeline.newPhone(),
      text: 'at once',
    });
    await lastEvent(other.message_id, 'message.sent');
    await waitFor(async () => (await pipeline.sandbox.get('/faults')).faults[0].hits >= 3);
    await pipeline.sandbox.call('DELETE', '/faults');
    await lastEvent(accepted.message_id, 'message.sent');
    assert.equal((await pipeline.shown(to)).length, 1);
  });

  test('that the network cannot do until it expires fails with forward_unavailable', async () => {
    const source = await received('never');
    const to = pipeline.newPhone();
    await pipeline.sandbox.post('/faults', { kind: 'refuse', reason: 'forward_unavailable', phone: to });
    const accepted = await pipeline.send(instance, '/messages/forward', {
      to,
      forward_chat_id: source.phone,
      message_id: source.id,
    });
    const failed = await lastEvent(accepted.message_id, 'text.delivery_failed');
    assert.deepEqual([failed.data.reason, failed.data.wire_state], ['forward_unavailable', 'not_sent']);
    const task = await pipeline.api.parts.db.query('SELECT 1 FROM outbox WHERE task_id = $1', [
      accepted.task_id,
    ]);
    assert.equal(task.rows.length, 0);
  });
});
