import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { lockAcceptOrder } from '@posthorn/core/guard/accept-order.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { createAcceptor } from '@posthorn/core/sending/accept-send.ts';
import { createPendingLoader, type PendingLoader } from '@posthorn/core/sending/load-pending.ts';
import type { AcceptedFor, PendingPage } from '@posthorn/core/sending/local-queues.ts';
import type { SendCommand } from '@posthorn/core/sending/send-command.ts';
import { jpeg } from '../media/samples.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

/** In place of a worker's queues: each is idle after its last page, as if it had sent everything. */
const handled = new Map<string, number>();
let told: AcceptedFor[] = [];
const queues = {
  idleAt: (instanceId: string) => handled.get(instanceId) ?? null,
  onAccepted(accepted: readonly AcceptedFor[]) {
    told.push(...accepted);
    return true;
  },
};

let api: TestMessaging;
let company: SeededCompany;
let loader: PendingLoader;
let instanceId: string;

before(async () => {
  api = await startTestMessaging({}, { queues });
  company = await seedCompany(api.parts.db);
  loader = createPendingLoader({ db: api.parts.db });
});
after(() => api.close());
beforeEach(async () => {
  instanceId = await idleInstance();
});

async function idleInstance(): Promise<string> {
  const id = await seedInstance(api.parts.db, company.companyId, {
    settings: { anti_spam_guard_enabled: false, humanize_enabled: false },
  });
  handled.set(id, 0);
  return id;
}

async function post(path: string, body: object): Promise<{ message_id: string }> {
  told = [];
  const answer = await api.call('POST', `/v1/instances/${instanceId}${path}`, {
    key: company.apiKey,
    headers: { 'idempotency-key': randomUUID() },
    body,
  });
  assert.equal(answer.status, 202, answer.text);
  return answer.body;
}

/** The page that the queue of the instance was given, and continues from. */
function pageOf(id: string): PendingPage {
  const accepted = told.find((each) => each.instanceId === id);
  assert.ok(accepted?.page, 'it was told of a page');
  handled.set(id, accepted.page.tasks.at(-1)!.seq);
  return accepted.page;
}

/** Asserts that the page equals what the queue would have read, field by field. */
async function assertAsRead(id: string, count: number): Promise<void> {
  const { afterSeq, tasks } = pageOf(id);
  assert.equal(tasks.length, count);
  assert.deepEqual(tasks, await loader.push({ instanceId: id, afterSeq }));
}

const PHONE = '5511999990001';
const UGLY = 'ü 😀 \u2028 "quotes" \\ \u0001 \ud83d\udc69\u200d\ud83d\ude80 \u00e9 e\u0301';

const SENDS: Record<string, { path: string; body: Record<string, unknown> }> = {
  text: {
    path: '/messages/text',
    body: { text: 'hello', mentions: ['5511999990002@s.whatsapp.net'] },
  },
  'text in every script': { path: '/messages/text', body: { text: UGLY } },
  'link preview': {
    path: '/messages/link-preview',
    body: { text: 'see https://a.test/x', url: 'https://a.test/x', title: 'A' },
  },
  location: {
    path: '/messages/location',
    body: { latitude: -23.5000001, longitude: -0, name: 'Here' },
  },
  contact: {
    path: '/messages/contact',
    body: { contacts: [{ contact_name: 'Bia', contact_phone: '+5511999990003' }] },
  },
  poll: { path: '/messages/poll', body: { question: 'When?', options: ['now', 'later'] } },
  event: {
    path: '/messages/event',
    body: { name: 'Launch', start_at: '2030-01-01T10:00:00Z', end_at: '2030-01-01T11:00:00-03:00' },
  },
};

describe('a page that the queue gets from the acceptor and need not read', () => {
  for (const [name, { path, body }] of Object.entries(SENDS))
    test(`equals the page that it would read: ${name}`, async () => {
      await post(path, { to: PHONE, ...body });
      await assertAsRead(instanceId, 1);
    });

  test('equals the page that it would read: media, and a forward of it', async () => {
    const picture = await jpeg({ width: 40 });
    const media_base64 = `data:image/jpeg;base64,${picture.toString('base64')}`;
    const image = await post('/messages/image', { to: PHONE, caption: UGLY, media_base64 });
    await assertAsRead(instanceId, 1);
    await api.parts.db.query(`UPDATE messages SET status = 'sent' WHERE id = $1`, [image.message_id]);
    await post('/messages/forward', {
      to: '5511999990004',
      forward_chat_id: PHONE,
      message_id: image.message_id,
    });
    const { tasks, afterSeq } = pageOf(instanceId);
    assert.equal(tasks[0]?.operation, 'forward');
    assert.ok(tasks[0]?.mediaId && tasks[0].payload, 'with its media and its source');
    assert.deepEqual(tasks, await loader.push({ instanceId, afterSeq }));
  });

  test('equals the page that it would read: a quoted reply, by UUID and by network id, and a reaction', async () => {
    const first = await post('/messages/text', { to: PHONE, text: 'quoted' });
    await assertAsRead(instanceId, 1);
    const hex = first.message_id.replaceAll('-', '').toUpperCase();
    await post('/messages/text', { to: PHONE, text: 'a', quoted_id: first.message_id.toUpperCase() });
    await assertAsRead(instanceId, 1);
    await post('/messages/text', { to: PHONE, text: 'b', quoted_id: hex });
    await assertAsRead(instanceId, 1);
    await post('/messages/reaction', { to: PHONE, message_id: first.message_id, emoji: '❤️' });
    await assertAsRead(instanceId, 1);
  });

  test('equals the page that it would read: a status', async () => {
    await post('/messages/status/text', { text: 'story', background_color: '#112233' });
    await assertAsRead(instanceId, 1);
  });

  test('has the settings that were changed before it, whoever changed them', async () => {
    await api.parts.db.query(`UPDATE instances SET settings = '{"humanize_enabled": true}' WHERE id = $1`, [
      instanceId,
    ]);
    await post('/messages/text', { to: PHONE, text: 'typed' });
    const { tasks } = pageOf(instanceId);
    assert.equal(tasks[0]?.settings.humanize_enabled, true);
  });

  test('holds all sends of one instance that are accepted together, in the order of acceptance', async () => {
    const other = await idleInstance();
    const acceptor = createAcceptor({ ...api.parts, queues });
    told = [];
    const seen = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        acceptor.acceptSend(textTo(i % 4 === 3 ? other : instanceId, `text ${i}`)),
      ),
    );
    assert.equal(told.length, 2, 'all in one transaction');
    const inOrder = (id: string) => pageOf(id).tasks.map(({ taskId }) => taskId);
    const accepted = (fits: (i: number) => boolean) =>
      seen.flatMap(({ taskId }, i) => (fits(i) ? [taskId] : []));
    assert.deepEqual(
      inOrder(instanceId),
      accepted((i) => i % 4 !== 3),
    );
    assert.deepEqual(
      inOrder(other),
      accepted((i) => i % 4 === 3),
    );
  });

  test('is as old as the moment before its accept waited for the locks, because its settings may be read then', async () => {
    const acceptor = createAcceptor({ ...api.parts, queues });
    told = [];
    let sending: Promise<unknown> | null = null;
    const heldUntilMs = await api.parts.db.transaction(async (client) => {
      await lockAcceptOrder(client, [instanceId]);
      sending = acceptor.acceptSend(textTo(instanceId, 'waits'));
      await areWaiting(1);
      return performance.now();
    });
    await sending;
    assert.ok(pageOf(instanceId).knownAtMs < heldUntilMs);
  });

  test('equals the page that it would read: a scheduled send, under the id that was promised', async () => {
    const acceptor = createAcceptor({ ...api.parts, queues });
    const messageId = newId();
    told = [];
    await acceptor.acceptSend({ ...textTo(instanceId, 'later'), messageId, keyScope: 'scheduled' });
    assert.equal(told[0]?.page?.tasks[0]?.messageId, messageId);
    await assertAsRead(instanceId, 1);
  });
});

function textTo(id: string, text: string): SendCommand & { refusal?: undefined } {
  const chatJid = `${PHONE}@s.whatsapp.net`;
  return {
    principal: company.principal,
    instanceId: id,
    operation: 'text',
    idempotencyKey: randomUUID(),
    force: false,
    body: { to: chatJid, text },
    traceId: newId(),
    message: { type: 'text', chatJid, content: { text, gone: undefined, list: [undefined, 1] } },
  };
}

/** Waits until this many accepts wait for the locks of their instances. */
function areWaiting(count: number): Promise<unknown> {
  return waitFor(async () => {
    const { rows } = await api.parts.db.query<{ n: number }>(
      `SELECT count(*)::integer AS n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    return rows[0]!.n === count;
  }, 30_000);
}

describe('the queue has to read', () => {
  /** Accepts one text, and returns the page that the queue was given. */
  async function acceptedPage(): Promise<PendingPage | null> {
    await post('/messages/text', { to: PHONE, text: randomUUID() });
    assert.equal(told.length, 1);
    return told[0]!.page;
  }

  test('while it is not idle, or not here', async () => {
    handled.delete(instanceId);
    assert.equal(await acceptedPage(), null);
  });

  test('when something else waits that it has not handled', async () => {
    const acceptor = createAcceptor(api.parts);
    await acceptor.acceptSend(textTo(instanceId, 'from another process'));
    assert.equal(await acceptedPage(), null);
  });

  test('when another process accepts between the look at the queue and the locks', async () => {
    const { db } = api.parts;
    const [elsewhere, here] = [createAcceptor(api.parts), createAcceptor({ ...api.parts, queues })];
    told = [];
    let sends: Promise<unknown>[] = [];
    await db.transaction(async (client) => {
      await lockAcceptOrder(client, [instanceId]);
      sends = [elsewhere.acceptSend(textTo(instanceId, 'first'))];
      await areWaiting(1);
      sends.push(here.acceptSend(textTo(instanceId, 'second')));
      await areWaiting(2);
    });
    await Promise.all(sends);
    assert.deepEqual(told, [{ instanceId, page: null }]);
  });

  test('after a delete, and after one that was accepted together with sends', async () => {
    const { message_id } = await post('/messages/text', { to: PHONE, text: 'gone soon' });
    pageOf(instanceId);
    await api.parts.db.query(`UPDATE messages SET status = 'sent' WHERE id = $1`, [message_id]);
    told = [];
    const acceptor = createAcceptor({ ...api.parts, queues });
    const change: SendCommand = {
      ...textTo(instanceId, ''),
      operation: 'delete',
      message: {
        type: 'text',
        chatJid: `${PHONE}@s.whatsapp.net`,
        content: {},
        changes: message_id,
        payload: { target: { id: 'A1B2C3D4E5F60718' } },
      },
    };
    await Promise.all([
      acceptor.acceptSend(textTo(instanceId, 'before')),
      acceptor.acceptSend(change),
      acceptor.acceptSend(textTo(instanceId, 'behind')),
    ]);
    assert.deepEqual(
      told.map(({ page }) => page),
      [null],
    );
    assert.equal(await acceptedPage(), null, 'the delete still waits');
  });
});
