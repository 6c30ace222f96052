import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  type NetworkDriver,
  type NetworkSession,
  SendUnavailable,
  type SessionSink,
} from '@posthorn/core/network/driver.ts';
import { fencedDriver } from '@posthorn/worker/sessions/fenced-driver.ts';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending } from '../support/sending.ts';

const NEVER = new Promise<never>(() => undefined);

describe('calls of a session', () => {
  /** A session that answers nothing, and its sink. */
  async function openSilent(answer: () => Promise<unknown> = () => NEVER) {
    const asked: string[] = [];
    const told: string[] = [];
    let sink: SessionSink | undefined;
    const silent = new Proxy({} as NetworkSession, {
      get: (_, verb) => {
        if (verb === 'then') return undefined;
        if (verb === 'close') return async () => undefined;
        return () => {
          asked.push(String(verb));
          return answer();
        };
      },
    });
    const driver: NetworkDriver = {
      name: 'silent',
      dedupes: true,
      window: 1,
      can: new Set(),
      async open(_, given) {
        sink = given;
        return silent;
      },
    };
    const session = await fencedDriver(driver, { isAlive: () => true }).open(
      {} as never,
      { disconnected: (reason: string) => void told.push(reason) } as never,
    );
    const verbs = Object.keys(session).filter((verb) => !['close', 'recorded'].includes(verb));
    const askAll = () =>
      Promise.allSettled(
        verbs.map((verb) => (session[verb as keyof NetworkSession] as () => Promise<unknown>)()),
      );
    return { session, askAll, asked, told, end: () => sink?.disconnected('connection_lost') };
  }

  for (const [how, end] of Object.entries({
    'is closed': ({ session }: Awaited<ReturnType<typeof openSilent>>) => session.close(),
    'has ended': (opened: Awaited<ReturnType<typeof openSilent>>) => opened.end(),
  }))
    test(`are rejected when it ${how} and its driver says nothing`, { timeout: 10_000 }, async () => {
      const opened = await openSilent();
      const answers = opened.askAll();
      await end(opened);
      for (const answer of await answers)
        assert.ok(answer.status === 'rejected' && answer.reason instanceof SendUnavailable);
      assert.ok(opened.asked.length >= 7);
      assert.deepEqual(opened.told, how === 'has ended' ? ['connection_lost'] : []);
    });

  test('count when the driver answers them as it closes, and reach nothing afterwards', async () => {
    const closed = Promise.withResolvers<string>();
    const opened = await openSilent(() => closed.promise);
    const answers = opened.askAll();
    await opened.session.close();
    closed.resolve('the last answer');
    for (const answer of await answers)
      assert.deepEqual(answer, { status: 'fulfilled', value: 'the last answer' });
    const asked = opened.asked.length;
    for (const answer of await opened.askAll())
      assert.ok(answer.status === 'rejected' && answer.reason instanceof SendUnavailable);
    assert.equal(opened.asked.length, asked);
  });
});

describe('a send that its driver never answers', () => {
  let sending: Sending;
  let unanswered = 0;
  before(async () => {
    const around = (driver: NetworkDriver): NetworkDriver => ({
      ...driver,
      async open(request, sink) {
        const session = await driver.open(request, sink);
        return {
          ...session,
          async send(message) {
            if (message.content.text !== 'lost') return session.send(message);
            unanswered += 1;
            return unanswered === 1 ? NEVER : session.send(message);
          },
        };
      },
    });
    sending = await startSending({
      held: { around, releaseAll: () => undefined },
    });
  });
  after(() => sending.close());

  test('keeps neither its shard from this worker nor its instance from sending, once the locks were lost', async () => {
    const instance = await sending.connect();
    const to = sending.newPhone();
    const first = await sending.send(instance, '/messages/text', { to, text: 'lost' });
    const second = await sending.send(instance, '/messages/text', { to, text: 'behind it' });
    await waitFor(() => unanswered === 1);
    const { db } = sending.api.parts;
    const { rows } = await db.query(
      `SELECT pg_terminate_backend(pid) FROM pg_locks
       WHERE locktype = 'advisory' AND pid <> pg_backend_pid()
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       GROUP BY pid`,
    );
    assert.ok(rows.length > 0);
    for (const { message_id: id } of [first, second])
      await waitFor(async () => (await sending.eventsOf(id)).some(({ type }) => type === 'message.sent'));
    await waitFor(() => sending.worker.counts().shards === sending.worker.counts().ofShards);
  });

  test('does not keep a worker from handing over its shards', async () => {
    const instance = await sending.connect();
    unanswered = 0;
    await sending.send(instance, '/messages/text', { to: sending.newPhone(), text: 'lost' });
    await waitFor(() => unanswered === 1);
    const startedAtMs = performance.now();
    await sending.worker.stop();
    const tookMs = performance.now() - startedAtMs;
    assert.ok(tookMs < 15_000, `it took ${tookMs} ms`);
    const { rows } = await sending.api.parts.db.query('SELECT FROM shards WHERE owner IS NOT NULL');
    assert.equal(rows.length, 0, 'each was handed over, and none found afterwards as after a crash');
  });
});
