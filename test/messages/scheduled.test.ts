import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { eventPayloads } from '@posthorn/contract/events.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { SCHEDULABLE, type Schedulable } from '@posthorn/contract/message-types.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { scheduleBody } from '@posthorn/contract/messaging/scheduled.ts';
import { metaOf } from '@posthorn/contract/route-meta.ts';
import { dateIdsBy } from '@posthorn/core/platform/ids.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';
import { createTestClock, type TestClock } from '../support/test-clock.ts';

const MINUTE_MS = 60_000;

let clock: TestClock;
let pipeline: Sending;
let instance: TestInstance;

before(async () => {
  clock = createTestClock(new Date());
  pipeline = await startSending({ clock });
});
after(() => pipeline.close());
beforeEach(async () => {
  instance = await pipeline.connect();
});

const inMinutes = (minutes: number) => new Date(clock.now().getTime() + minutes * MINUTE_MS).toISOString();

async function schedule(body: object, headers = {}) {
  return pipeline.call(instance, 'POST', '/messages/scheduled', body, headers);
}

async function statusOf(id: string): Promise<string> {
  const list = await pipeline.call(instance, 'GET', '/messages/scheduled');
  return list.body.data.find((row: { id: string }) => row.id === id)?.status;
}

/** Moves the clock forward; the runner looks once a second. */
async function pass(minutes: number): Promise<void> {
  clock.advance(minutes * MINUTE_MS);
}

/** Lets the runner look until `condition` holds; slowly, so that a busy machine does not let hours pass. */
async function tick(condition: () => Promise<boolean>): Promise<void> {
  await waitFor(
    async () => {
      clock.advance(1_000);
      return condition();
    },
    60_000,
    { everyMs: 100 },
  );
}

describe('a scheduled send', () => {
  test('goes out when its time has come, under the id that was promised', async () => {
    const phone = pipeline.newPhone();
    const key = randomUUID();
    const body = { type: 'text', send_at: inMinutes(10), body: { to: phone, text: 'later' } };
    const answer = await schedule(body, { 'idempotency-key': key });
    assert.equal(answer.status, 202);
    const { id } = answer.body;
    assert.deepEqual(answer.body, {
      status: 'scheduled',
      id,
      message_id: id,
      send_at: body.send_at,
      idempotency_key: key,
    });
    await pass(9);
    await tick(async () => true);
    assert.deepEqual(await pipeline.shown(phone), []);
    assert.equal(
      (await pipeline.call(instance, 'GET', '/messages/scheduled')).body.data[0].status,
      'scheduled',
    );
    await pass(1);
    await tick(async () => (await pipeline.shown(phone)).length === 1);
    const sent = await pipeline.event(instance, 'message.sent');
    assert.deepEqual([sent.data.message_ids, sent.data.idempotency_key], [[id], key]);
    // Written after the accept, when the message may already be on its way.
    await waitFor(async () => (await statusOf(id)) === 'queued');
    const replay = await schedule(body, { 'idempotency-key': key });
    assert.equal(replay.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(replay.body, { ...answer.body, status: 'queued' });
    await tick(async () => true);
    assert.equal((await pipeline.shown(phone)).length, 1);
  });

  test('is named by its path as well as by its word', async () => {
    const paths = listRoutes(messagingContract).flatMap(({ route }) => {
      const operation = metaOf(route).operation as Schedulable | undefined;
      const path = /\/messages\/(?!:|scheduled$)(.+)$/.exec(route.path)?.[1];
      return operation && path && SCHEDULABLE.includes(operation) ? [[path, operation] as const] : [];
    });
    assert.ok(paths.length >= 18 && paths.some(([path]) => path === 'status/video'), String(paths));
    for (const [path, operation] of paths)
      for (const type of [path, operation])
        assert.equal(scheduleBody.shape.type.parse(type), operation, path);
    const key = randomUUID();
    const body = { send_at: inMinutes(60), body: { text: 'news' } };
    const made = await schedule({ type: 'status/text', ...body }, { 'idempotency-key': key });
    assert.equal(made.status, 202, made.text);
    const again = await schedule({ type: 'status_text', ...body }, { 'idempotency-key': key });
    assert.deepEqual([again.status, again.body.id], [202, made.body.id]);
    const list = await pipeline.call(instance, 'GET', '/messages/scheduled');
    assert.deepEqual(
      list.body.data.map((row: { id: string; type: string }) => [row.id, row.type]),
      [[made.body.id, 'status_text']],
    );
    for (const type of ['status/reply', 'status_reply', 'link/preview', 'Status/text', 'scheduled'])
      assert.equal((await schedule({ type, ...body })).status, 400, type);
  });

  test('may be of every type', async () => {
    const phone = pipeline.newPhone();
    await pipeline.sandbox.post('/phones', { phone: instance.phone, business: true });
    const target = await pipeline.send(instance, '/messages/text', { to: phone, text: 'target' });
    await waitFor(async () => (await pipeline.shown(phone)).length === 1);
    const ref = target.message_id;
    // The network dates messages by the real time, which is behind this clock.
    await waitFor(async () => (await pipeline.eventsOf(ref)).at(-1)?.type === 'message.read');
    await pipeline.api.parts.db.query('UPDATE messages SET sent_at = $2 WHERE id = $1', [ref, clock.now()]);
    const bodies: Record<string, object> = {
      text: { to: phone, text: 'hello' },
      link_preview: { to: phone, text: 'https://a.test', url: 'https://a.test' },
      location: { to: phone, latitude: 1, longitude: 2 },
      contact: { to: phone, contact_name: 'Bia', contact_phone: '+5511999990003' },
      reaction: { to: phone, message_id: ref, emoji: '👍' },
      poll: { to: phone, question: 'When?', options: ['now', 'later'] },
      template: { to: phone, body_text: 'Ok?', buttons: [{ text: 'Yes', id: 'y' }] },
      event: { to: phone, name: 'Launch', start_at: '2030-01-01T10:00:00Z' },
      forward: { to: phone, forward_chat_id: phone, message_id: ref },
      edit: { message_id: ref, content: 'edited' },
      status_text: { text: 'news' },
    };
    const ids: Record<string, string> = {};
    for (const [i, [type, body]] of Object.entries(bodies).entries()) {
      const answer = await schedule({ type, send_at: inMinutes(1 + i), body });
      assert.equal(answer.status, 202, `${type}: ${answer.text}`);
      ids[type] = answer.body.id;
    }
    // Within the edit window of the target.
    await pass(12);
    await tick(async () => (await pipeline.shown(phone)).length === 9);
    await tick(
      async () =>
        (await pipeline.shown(phone))[0].edited && (await pipeline.shown(phone))[0].reactions.length === 1,
    );
    const shown = await pipeline.shown(phone);
    assert.deepEqual([shown[0].text, shown[0].edited, shown[0].reactions.length], ['edited', true, 1]);
    for (const [type, id] of Object.entries(ids)) {
      const [of, told] = type === 'edit' ? [ref, 'message.edited'] : [id, 'message.sent'];
      await tick(async () => (await pipeline.eventsOf(of)).some((event) => event.type === told));
    }
    assert.deepEqual(await pipeline.eventsOf(ids.edit!), []);
    const removed = await schedule({
      type: 'delete',
      send_at: inMinutes(1),
      body: { to: phone, message_id: ref },
    });
    assert.equal(removed.status, 202);
    await pass(2);
    await tick(async () => (await pipeline.shown(phone))[0].deleted);
    await tick(async () => (await pipeline.eventsOf(ref)).some(({ type }) => type === 'message.deleted'));
    assert.deepEqual(await pipeline.eventsOf(removed.body.id), []);
  });

  test('is refused at once for faults that are already known', async () => {
    const phone = pipeline.newPhone();
    const text = { to: phone, text: 'x' };
    const cases: [object, number, string][] = [
      [{ send_at: inMinutes(1), body: text }, 400, 'MISSING_FIELD'],
      [{ type: 'text', body: text }, 400, 'MISSING_FIELD'],
      [{ type: 'text', send_at: inMinutes(1) }, 400, 'MISSING_FIELD'],
      [{ type: 'button', send_at: inMinutes(1), body: text }, 400, 'BAD_REQUEST'],
      [{ type: 'text', send_at: 'tomorrow', body: text }, 400, 'BAD_REQUEST'],
      [{ type: 'text', send_at: inMinutes(-1), body: text }, 400, 'BAD_REQUEST'],
      [{ type: 'text', send_at: inMinutes(60 * 24 * 400), body: text }, 400, 'BAD_REQUEST'],
      [{ type: 'text', send_at: inMinutes(1), body: { to: phone } }, 400, 'MISSING_FIELD'],
      [{ type: 'text', send_at: inMinutes(1), body: { to: 'x', text: 'y' } }, 400, 'INVALID_PHONE'],
      [
        { type: 'text', send_at: inMinutes(1), body: { ...text, quoted_id: randomUUID() } },
        404,
        'MESSAGE_NOT_FOUND',
      ],
      [
        {
          type: 'forward',
          send_at: inMinutes(1),
          body: { to: phone, forward_chat_id: phone, message_id: 'A1' },
        },
        404,
        'MESSAGE_NOT_FOUND',
      ],
      [
        { type: 'image', send_at: inMinutes(1), body: { to: phone, media_id: randomUUID() } },
        404,
        'NOT_FOUND',
      ],
    ];
    for (const [body, status, code] of cases) {
      const answer = await schedule(body);
      assert.deepEqual([answer.status, answer.body.error_code], [status, code], JSON.stringify(body));
    }
    const missing = await pipeline.api.call('POST', `/v1/instances/${instance.id}/messages/scheduled`, {
      key: pipeline.company.apiKey,
      body: { type: 'text', send_at: inMinutes(1), body: text },
    });
    assert.equal(missing.body.error_code, 'IDEMPOTENCY_KEY_REQUIRED');
    assert.deepEqual((await pipeline.call(instance, 'GET', '/messages/scheduled')).body.total, 0);
  });

  test('with one key 50 times at once is one; with a changed body 422', async () => {
    const phone = pipeline.newPhone();
    const headers = { 'idempotency-key': randomUUID() };
    const body = { type: 'text', send_at: inMinutes(5), body: { to: phone, text: 'once' } };
    const answers = await Promise.all(Array.from({ length: 50 }, () => schedule(body, headers)));
    assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([202]));
    assert.equal(new Set(answers.map((answer) => answer.body.id)).size, 1);
    assert.equal(answers.filter((answer) => !answer.headers.get('idempotent-replayed')).length, 1);
    const changed = await schedule({ ...body, send_at: inMinutes(6) }, headers);
    assert.deepEqual([changed.status, changed.body.error_code], [422, 'IDEMPOTENCY_KEY_REUSED']);
    await pass(6);
    await tick(async () => (await pipeline.shown(phone)).length === 1);
    await tick(async () => true);
    assert.equal((await pipeline.shown(phone)).length, 1);
  });

  test('is one under its key for as long as it waits, and for 72 hours after its time or its end', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const body = {
      type: 'text',
      send_at: inMinutes(14_400),
      body: { to: pipeline.newPhone(), text: 'once' },
    };
    const first = await schedule(body, headers);
    await pass(73 * 60);
    const again = await schedule(body, headers);
    assert.deepEqual([again.status, again.body.id], [202, first.body.id]);
    assert.equal((await pipeline.call(instance, 'GET', '/messages/scheduled')).body.total, 1);
    await pipeline.call(instance, 'DELETE', `/messages/scheduled/${first.body.id}`);
    assert.equal((await schedule(body, headers)).body.status, 'cancelled');
    await pass(73 * 60);
    const other = await schedule(body, headers);
    assert.deepEqual([other.status, other.body.status], [202, 'scheduled']);
    assert.notEqual(other.body.id, first.body.id);
    await pipeline.call(instance, 'DELETE', `/messages/scheduled/${other.body.id}`);
  });

  test('is cancelled until it is claimed, then 409', async () => {
    const phone = pipeline.newPhone();
    const body = { type: 'text', send_at: inMinutes(5), body: { to: phone, text: 'x' } };
    const first = (await schedule(body)).body.id;
    const remove = (id: string) => pipeline.call(instance, 'DELETE', `/messages/scheduled/${id}`);
    assert.equal((await remove(first)).status, 204);
    assert.equal(await statusOf(first), 'cancelled');
    assert.equal((await remove(randomUUID())).body.error_code, 'NOT_FOUND');
    const second = (await schedule({ ...body, body: { to: phone, text: 'y' } })).body.id;
    await pass(6);
    await tick(async () => (await pipeline.shown(phone)).length === 1);
    assert.deepEqual(
      (await pipeline.shown(phone)).map((message) => message.text),
      ['y'],
    );
    const late = await remove(second);
    assert.deepEqual([late.status, late.body.error_code], [409, 'CONFLICT']);
    const { db } = pipeline.api.parts;
    await db.query(`UPDATE scheduled_sends SET status = 'claimed', claimed_at = now() WHERE id = $1`, [
      second,
    ]);
    assert.equal((await remove(second)).status, 409);
  });

  test('that is refused when its time has come fails in the family of the message it was about', async () => {
    const phone = pipeline.newPhone();
    const place = await pipeline.send(instance, '/messages/location', {
      to: phone,
      latitude: 1,
      longitude: 2,
    });
    await waitFor(async () => (await pipeline.eventsOf(place.message_id)).at(-1)?.type === 'message.read');
    const { id } = (
      await schedule({
        type: 'forward',
        send_at: inMinutes(5),
        body: { to: pipeline.newPhone(), forward_chat_id: phone, message_id: place.message_id },
      })
    ).body;
    await pipeline.api.parts.db.query('UPDATE messages SET deleted_at = now() WHERE id = $1', [
      place.message_id,
    ]);
    await pass(6);
    await tick(async () => (await statusOf(id)) === 'failed');
    const [failed] = await pipeline.eventsOf(id);
    assert.equal(failed!.type, 'location.delivery_failed');
    assert.deepEqual(
      [failed!.data.reason, failed!.data.message_type],
      ['forward_source_deleted', 'location'],
    );
  });

  test('that is an edit and comes too late reports that the edit failed', async () => {
    const sent = await pipeline.send(instance, '/messages/text', { to: pipeline.newPhone(), text: 'x' });
    await waitFor(async () => (await pipeline.eventsOf(sent.message_id)).at(-1)?.type === 'message.read');
    // The network's clock does not move with ours.
    const sentNow = [sent.message_id, clock.now()];
    await pipeline.api.parts.db.query('UPDATE messages SET sent_at = $2 WHERE id = $1', sentNow);
    const body = { message_id: sent.message_id, content: 'y' };
    const { id } = (await schedule({ type: 'edit', send_at: inMinutes(20), body })).body;
    await pass(21);
    await tick(async () => (await statusOf(id)) === 'failed');
    const [{ type, data } = assert.fail('nothing tells it')] = await pipeline.eventsOf(id);
    assert.deepEqual(
      [type, data.operation, data.reason],
      ['text.delivery_failed', 'edit', 'edit_window_expired'],
    );
  });

  test('meets passive mode when it is scheduled and again when its time has come', async () => {
    const phone = pipeline.newPhone();
    const body = { type: 'text', send_at: inMinutes(5), body: { to: phone, text: 'x' } };
    const { id } = (await schedule(body)).body;
    const settings = { passive_mode_enabled: true };
    assert.equal((await pipeline.call(instance, 'PATCH', '/settings', settings)).status, 200);
    const refused = await schedule(body);
    assert.deepEqual([refused.status, refused.body.error_code], [409, 'PASSIVE_MODE_ENABLED']);
    const forced = await schedule(
      { ...body, body: { to: phone, text: 'forced' } },
      { 'x-force-send': 'true' },
    );
    assert.equal(forced.status, 202);
    await pass(6);
    await tick(async () => (await statusOf(id)) === 'failed');
    const [failed] = await pipeline.eventsOf(id);
    assert.equal(failed!.type, 'text.delivery_failed');
    assert.deepEqual(eventPayloads['text.delivery_failed'].parse(failed!.data), failed!.data);
    assert.deepEqual([failed!.data.reason, failed!.data.wire_state], ['passive_mode_enabled', 'not_sent']);
    await tick(async () => (await pipeline.shown(phone)).length === 1);
    assert.equal((await pipeline.shown(phone))[0].text, 'forced');
    const audit = await pipeline.api.parts.db.query('SELECT action FROM audit_log WHERE instance_id = $1', [
      instance.id,
    ]);
    assert.deepEqual(
      audit.rows.map((row) => row.action),
      ['passive_mode.force_send'],
    );
  });

  test('waits for its instance a while, and fails when that stays away', async () => {
    const phone = pipeline.newPhone();
    const send = async (text: string) =>
      (await schedule({ type: 'text', send_at: inMinutes(5), body: { to: phone, text } })).body.id;
    const late = await send('late');
    const { db } = pipeline.api.parts;
    await db.query(`UPDATE instances SET state = 'DISCONNECTED' WHERE id = $1`, [instance.id]);
    await pass(6);
    await tick(async () => (await statusOf(late)) === 'claimed');
    await db.query(`UPDATE instances SET state = 'CONNECTED' WHERE id = $1`, [instance.id]);
    await tick(async () => (await pipeline.shown(phone)).length === 1);
    const never = await send('never');
    await db.query(`UPDATE instances SET state = 'DISCONNECTED' WHERE id = $1`, [instance.id]);
    await pass(25);
    await tick(async () => (await statusOf(never)) === 'failed');
    assert.equal((await pipeline.eventsOf(never))[0]!.data.reason, 'instance_not_connected');
  });

  test('keeps its place before those that fell due later while their instance was away', async () => {
    const phone = pipeline.newPhone();
    const startedAtMs = clock.now().getTime();
    const texts = ['first', 'second', 'third', 'fourth'];
    for (const [nth, text] of texts.entries()) {
      const sendAt = new Date(startedAtMs + 2_000 + 3_000 * nth).toISOString();
      const answer = await schedule({ type: 'text', send_at: sendAt, body: { to: phone, text } });
      assert.equal(answer.status, 202, answer.text);
    }
    const { db } = pipeline.api.parts;
    await db.query(`UPDATE instances SET state = 'DISCONNECTED' WHERE id = $1`, [instance.id]);
    // By now the first one was tried again, and waits for longer than the second one would.
    await tick(async () => clock.now().getTime() >= startedAtMs + 15_000);
    await db.query(`UPDATE instances SET state = 'CONNECTED' WHERE id = $1`, [instance.id]);
    await tick(async () => (await pipeline.shown(phone)).length === texts.length);
    assert.deepEqual(
      (await pipeline.shown(phone)).map(({ text }) => text),
      texts,
    );
  });

  test('claimed by a worker that died is taken over and sent once', async () => {
    const phone = pipeline.newPhone();
    const { id } = (
      await schedule({ type: 'text', send_at: inMinutes(5), body: { to: phone, text: 'taken over' } })
    ).body;
    const { db } = pipeline.api.parts;
    await db.query(
      `UPDATE scheduled_sends SET status = 'claimed', claimed_at = $2, send_at = $2 WHERE id = $1`,
      [id, clock.now()],
    );
    await tick(async () => true);
    assert.deepEqual(await pipeline.shown(phone), []);
    await pass(2);
    await tick(async () => (await pipeline.shown(phone)).length === 1);
    await waitFor(async () => (await statusOf(id)) === 'queued');
  });

  test('waits behind an earlier one that a worker which lives has claimed, and not behind that of a dead one', async () => {
    const phone = pipeline.newPhone();
    const texts = ['first', 'second', 'third'];
    const ids: string[] = [];
    for (const [nth, text] of texts.entries())
      ids.push(
        (await schedule({ type: 'text', send_at: inMinutes(5 + nth), body: { to: phone, text } })).body.id,
      );
    const { db } = pipeline.api.parts;
    const slow = await db.query<{ id: number }>(
      `INSERT INTO workers (name, tag, backend_pid, beat_at) VALUES ('slow', '#slow', 0, now() + interval '1 hour')
       RETURNING id`,
    );
    await db.query(
      `UPDATE scheduled_sends SET status = 'claimed', claimed_at = $2, claimed_by = $3 WHERE id = $1`,
      [ids[0], new Date(clock.now().getTime() + 8 * MINUTE_MS), slow.rows[0]!.id],
    );
    await pass(8);
    for (let look = 0; look < 5; look += 1) await tick(async () => true);
    assert.deepEqual(await pipeline.shown(phone), []);
    await db.query('DELETE FROM workers WHERE id = $1', [slow.rows[0]!.id]);
    await tick(async () => (await pipeline.shown(phone)).length === texts.length);
    assert.deepEqual(
      (await pipeline.shown(phone)).map(({ text }) => text),
      texts,
    );
  });

  test('goes with its instance when that is deleted', async () => {
    const other = await pipeline.connect();
    const body = { type: 'text', send_at: inMinutes(5), body: { to: pipeline.newPhone(), text: 'x' } };
    const answer = await pipeline.call(other, 'POST', '/messages/scheduled', body);
    assert.equal(answer.status, 202);
    assert.equal((await pipeline.call(other, 'DELETE', '')).status, 204);
    const { rows } = await pipeline.api.parts.db.query('SELECT FROM scheduled_sends WHERE instance_id = $1', [
      other.id,
    ]);
    assert.equal(rows.length, 0);
  });

  test('goes out in the order of its time beside others that are due by now, and of one moment as scheduled', async () => {
    const phone = pipeline.newPhone();
    const minutes = [9, 8, 7, 6, 5, 4, 3, 2, 5, 5, 5];
    for (const [nth, minute] of minutes.entries()) {
      const body = { to: phone, text: `${minute}.${nth}` };
      const answer = await schedule({ type: 'text', send_at: inMinutes(minute), body });
      assert.equal(answer.status, 202, answer.text);
    }
    await pass(10);
    await tick(async () => (await pipeline.shown(phone)).length === minutes.length);
    assert.deepEqual(
      (await pipeline.shown(phone)).map(({ text }) => text),
      ['2.7', '3.6', '4.5', '5.4', '5.8', '5.9', '5.10', '6.3', '7.2', '8.1', '9.0'],
    );
  });

  test('stands among the messages where it was sent, and not where it was scheduled', async (t) => {
    dateIdsBy(clock);
    t.after(() => dateIdsBy(systemClock));
    const phone = pipeline.newPhone();
    const send = async (text: string) => pipeline.send(instance, '/messages/text', { to: phone, text });
    const listed = async (query = '') =>
      (await pipeline.call(instance, 'GET', `/messages${query}`)).body.data.map(
        (message: { content: { text: string } }) => message.content.text,
      );
    const body = { type: 'text', send_at: inMinutes(10), body: { to: phone, text: 'scheduled' } };
    assert.equal((await schedule(body)).status, 202);
    await pass(9);
    const { message_id: before } = await send('before');
    await pass(1);
    await tick(async () => (await pipeline.shown(phone)).length === 2);
    await send('after');
    assert.deepEqual(await listed(), ['after', 'scheduled', 'before']);
    assert.deepEqual(await listed(`?after=${before}`), ['scheduled', 'after']);
  });
});
