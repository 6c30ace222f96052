import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending } from '../support/sending.ts';

/** A text that takes minutes to type unless the time is bounded. */
const LONG = 'x'.repeat(2_000);
const MAX_MS = 20_000;

describe('a text that is being typed', () => {
  let sending: Sending;
  before(async () => {
    sending = await startSending({ worker: { typingMaxMs: MAX_MS } });
  });
  after(() => sending?.close());

  test('shows in the queue and in the message until when, and waiting messages do not', async () => {
    const one = await sending.connect({ humanize_enabled: true });
    const [first, second] = [
      await sending.send(one, '/messages/text', { to: sending.newPhone(), text: LONG }),
      await sending.send(one, '/messages/text', { to: sending.newPhone(), text: 'Your code is 123456' }),
    ];
    const typed = await waitFor(async () => {
      const { body } = await sending.call(one, 'GET', '/queue');
      return body.data[0].typing_until !== null && body.data;
    });
    assert.deepEqual(
      typed.map((task: { message_id: string }) => task.message_id),
      [first.message_id, second.message_id],
    );
    assert.equal(typed[1].typing_until, null);
    const leftMs = Date.parse(typed[0].typing_until) - Date.now();
    assert.ok(leftMs <= MAX_MS, `no longer than the installation lets it: ${leftMs} ms`);
    const shown = async (id: string) => (await sending.call(one, 'GET', `/message/${id}`)).body;
    assert.equal((await shown(first.message_id)).typing_until, typed[0].typing_until);
    assert.equal((await shown(second.message_id)).typing_until, null);
    const { body: listed } = await sending.call(one, 'GET', '/messages');
    assert.deepEqual(
      listed.data.map((message: { typing_until: string | null }) => message.typing_until),
      [null, typed[0].typing_until],
    );
    assert.equal((await sending.call(one, 'DELETE', `/queue/${first.task_id}`)).status, 200);
    assert.equal((await shown(first.message_id)).typing_until, null, 'what was cancelled is not typed');
  });

  test('is not typed any more once its time is over, whichever process recorded it', async () => {
    const one = await sending.connect({ humanize_enabled: true });
    const { task_id } = await sending.send(one, '/messages/text', { to: sending.newPhone(), text: LONG });
    const queue = async () => (await sending.call(one, 'GET', '/queue')).body.data;
    await waitFor(async () => (await queue())[0].typing_until !== null);
    const past = `UPDATE outbox SET typing_until = now() - interval '1 second' WHERE task_id = $1`;
    await sending.api.parts.db.query(past, [task_id]);
    const [task] = await queue();
    assert.equal(task.typing_until, null);
    const message = await sending.call(one, 'GET', `/message/${task.message_id}`);
    assert.equal(message.body.typing_until, null);
    await sending.call(one, 'DELETE', `/queue/${task_id}`);
  });
});

test('with HUMANIZE_MAX_SECONDS 0 nothing is typed, for any settings of an instance', async () => {
  const sending = await startSending({ worker: { typingMaxMs: 0 } });
  try {
    const one = await sending.connect({ humanize_enabled: true });
    const sent = await sending.send(one, '/messages/text', { to: sending.newPhone(), text: LONG });
    await sending.event(one, 'message.sent', (data) => data.message_ids[0] === sent.message_id);
  } finally {
    await sending.close();
  }
});
