import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import {
  createBillingClient,
  createClient,
  createSession,
  iterate,
  type LogFields,
  MessageFailedError,
  TimeoutError,
} from '@posthorn/sdk/index.ts';
import { type Answer, json, refuse, startHttp, TRACE_ID } from './http-server.ts';

const INSTANCE = '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01';

async function setUp(answer: Answer) {
  const server = await startHttp(answer);
  const client = createClient({ baseUrl: server.url, apiKey: 'svc_test' });
  return { server, client, [Symbol.asyncDispose]: () => server.close() };
}

const queryOf = (url: string) => new URL(url, 'http://x').searchParams;

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const got: T[] = [];
  for await (const item of items) got.push(item);
  return got;
}

describe('iterating over a list', () => {
  test('by page numbers gives every item once, also when the list grows meanwhile', async () => {
    const ids = [5, 4, 3, 2, 1];
    await using at = await setUp((res, { url }) => {
      const page = Number(queryOf(url).get('page') ?? 1);
      const data = ids.slice((page - 1) * 2, page * 2).map((id) => ({ id }));
      json(res, 200, { data, total: ids.length, page, limit: 2 });
      // A new item on top pushes the last item of this page onto the next one.
      if (page === 1) ids.unshift(6);
    });
    const got = await all(iterate(at.client.webhooks.list, { query: { limit: 2 } }));
    assert.deepEqual(
      got.map(({ id }) => id),
      [5, 4, 3, 2, 1],
    );
    assert.equal(queryOf(at.server.seen[1]?.url ?? '').get('limit'), '2');
  });

  /** Pages of a list that changes, by numbers. */
  function pagesOf(items: () => object[]): Answer {
    return (res, { url }) => {
      const page = Number(queryOf(url).get('page') ?? 1);
      const data = items().slice((page - 1) * 2, page * 2);
      json(res, 200, { data, total: items().length, page, limit: 2 });
    };
  }

  test('by page numbers misses nothing while the caller removes what it got', async () => {
    let left = [7, 6, 5, 4, 3, 2, 1].map((id) => ({ id }));
    await using at = await setUp(pagesOf(() => left));
    const got: number[] = [];
    for await (const { id } of iterate(at.client.webhooks.list, { query: { limit: 2 } })) {
      got.push(id);
      left = left.filter((each) => each.id !== id);
    }
    assert.deepEqual([got, left], [[7, 6, 5, 4, 3, 2, 1], []]);
  });

  test('by page numbers misses nothing while a queue is worked off, and ends all the same', async () => {
    const waiting = Array.from({ length: 9 }, (_, n) => ({ task_id: `t${n}`, message_id: 'the same' }));
    const pages = pagesOf(() => waiting);
    await using at = await setUp((res, request, index) => {
      pages(res, request, index);
      waiting.shift();
    });
    const got = await all(iterate(at.client.queue.list, { instanceId: INSTANCE, query: { limit: 2 } }));
    const ids = got.map(({ task_id }) => task_id);
    assert.deepEqual(ids, [...new Set(ids)]);
    const missed = waiting.filter(({ task_id }) => !ids.includes(task_id));
    assert.deepEqual(missed, [], 'all that still wait were given');
  });

  test('ends with a list whose total goes up and down', async () => {
    await using at = await setUp((res, { url }, index) => {
      const page = Number(queryOf(url).get('page') ?? 1);
      json(res, 200, { data: page < 4 ? [{ id: page }] : [], total: 5 + (index % 2), page, limit: 1 });
    });
    const got = await all(iterate(at.client.webhooks.list, { query: { limit: 1 } }));
    assert.deepEqual(
      got.map(({ id }) => id),
      [1, 2, 3],
    );
  });

  test('tells tasks of one message apart, and knows statuses and groups when they move on', async () => {
    const tasks = ['a', 'b', 'c'].map((task_id) => ({ task_id, message_id: 'the same' }));
    await using queue = await setUp(pagesOf(() => tasks));
    const input = { instanceId: INSTANCE, query: { limit: 2 } };
    assert.equal((await all(iterate(queue.client.queue.list, input))).length, 3);
    for (const [area, field] of [
      ['status', 'status_message_id'],
      ['groups', 'jid'],
    ] as const) {
      let items = ['c', 'b', 'a'].map((id) => ({ [field]: id }));
      const pages = pagesOf(() => items);
      await using at = await setUp((res, request, index) => {
        pages(res, request, index);
        if (index === 0) items = [{ [field]: 'd' }, ...items];
      });
      const list = at.client[area].list as (given: object) => Promise<{ data: object[] }>;
      assert.deepEqual(
        await all(iterate(list, input)),
        ['c', 'b', 'a'].map((id) => ({ [field]: id })),
        area,
      );
    }
  });

  test('with a capped total continues until a page is empty', async () => {
    await using at = await setUp((res, { url }) => {
      const page = Number(queryOf(url).get('page') ?? 1);
      json(res, 200, { data: page < 4 ? [{ id: page }] : [], total: 1, page, limit: 1, total_capped: true });
    });
    assert.equal((await all(iterate(at.client.webhooks.logs, { webhookId: 1 }))).length, 3);
  });

  test('by a cursor continues in the direction of the list', async () => {
    const pages: Answer = (res, { url }) => {
      const at = queryOf(url).get('before') ?? queryOf(url).get('after');
      json(res, 200, { data: [{ message_id: at ?? 'first' }], next_cursor: at === 'last' ? null : 'last' });
    };
    await using at = await setUp(pages);
    assert.equal((await all(iterate(at.client.messages.list, { instanceId: INSTANCE }))).length, 2);
    assert.equal(queryOf(at.server.seen[1]?.url ?? '').get('before'), 'last');
    const query = { after: INSTANCE };
    assert.equal((await all(iterate(at.client.messages.list, { instanceId: INSTANCE, query }))).length, 2);
    assert.equal(queryOf(at.server.seen[3]?.url ?? '').get('after'), 'last');
  });

  test('works by "before", for a single page, and for a list named logs', async () => {
    await using at = await setUp((res, { url }) => {
      const isAudit = url.startsWith('/v1/audit');
      const before = queryOf(url).get('before');
      if (isAudit) json(res, 200, { data: [{ id: before ? 1 : 2 }], next_before: before ? null : 2 });
      else if (url.startsWith('/v1/event-deliveries')) json(res, 200, { logs: [{ id: 9 }], total: 1 });
      else json(res, 200, { data: [{ code: 'a' }, { code: 'b' }] });
    });
    assert.equal((await all(iterate(at.client.audit.list))).length, 2);
    const logs = iterate(at.client.webhooks.eventDeliveries, { query: { event_id: INSTANCE } });
    assert.deepEqual(
      (await all(logs)).map(({ id }) => id),
      [9],
    );
    const billing = createBillingClient({ baseUrl: at.server.url });
    assert.equal((await all(iterate(billing.catalog.listPlans))).length, 2);
  });

  test('ends with an error when cursors lead in a circle', async () => {
    await using at = await setUp((res, _, index) => {
      if (index > 5) return refuse(res, 404, 'NOT_FOUND');
      json(res, 200, { data: [{ message_id: `m${index}` }], next_cursor: index % 2 ? 'odd' : 'even' });
    });
    await assert.rejects(all(iterate(at.client.messages.list, { instanceId: INSTANCE })), {
      code: 'BAD_RESPONSE',
      message: /would never end/,
    });
    assert.equal(at.server.seen.length, 3);
  });

  const stuck: [string, object][] = [
    ['the cursor', { next_cursor: 'same' }],
    ['"before"', { next_before: 2 }],
    ['the page', { page: 1, limit: 1, total: 3 }],
  ];
  for (const [what, paging] of stuck) {
    test(`ends with an error when the service repeats ${what} that it was asked with`, async () => {
      await using at = await setUp((res, _, index) => {
        if (index > 3) return refuse(res, 404, 'NOT_FOUND');
        json(res, 200, { data: [{ message_id: `m${index}` }], ...paging });
      });
      const got: unknown[] = [];
      await assert.rejects(
        async () => {
          for await (const { message_id } of iterate(at.client.messages.list, { instanceId: INSTANCE }))
            got.push(message_id);
        },
        { code: 'BAD_RESPONSE', status: 200, message: /would never end/ },
      );
      assert.deepEqual(got, ['m0', 'm1']);
    });
  }
});

describe('waiting for a message', () => {
  const input = { instanceId: INSTANCE, messageId: TRACE_ID };
  /** One state after another, the last one for ever; without a stream of events. */
  function states(...given: string[]): Answer {
    let read = 0;
    return (res, { url }) => {
      if (url.startsWith('/v1/events/stream')) return refuse(res, 404, 'NOT_FOUND');
      json(res, 200, {
        message_id: TRACE_ID,
        status: given[read] ?? given.at(-1),
        failed_reason: 'no_route',
      });
      read += 1;
    };
  }

  test('resolves once the message has reached the state, or a later one', async () => {
    await using at = await setUp(states('queued', 'sent', 'read'));
    assert.equal((await at.client.messages.waitFor(input, 'delivered')).status, 'read');
  });

  test('throws with the reason when the message failed', async () => {
    await using at = await setUp(states('queued', 'failed'));
    await assert.rejects(at.client.messages.waitFor(input, 'delivered'), (error: unknown) => {
      assert.ok(error instanceof MessageFailedError);
      assert.equal(error.fields.failed_reason, 'no_route');
      return true;
    });
  });

  test('ends after its timeout, and when the caller aborts it', async () => {
    await using at = await setUp(states('sent'));
    await assert.rejects(at.client.messages.waitFor(input, 'read', { timeoutMs: 600 }), TimeoutError);
    const signal = AbortSignal.timeout(100);
    await assert.rejects(at.client.messages.waitFor(input, 'read', { signal }), { name: 'TimeoutError' });
    await assert.rejects(at.client.messages.waitFor(input, 'failed' as never), TypeError);
  });
});

describe('a call', () => {
  test('gives its response too when asked for it', async () => {
    await using at = await setUp((res) => json(res, 200, { status: 'ok' }, { 'x-trace-id': TRACE_ID }));
    const { data, response } = await at.client.health.health().withResponse();
    assert.equal(data.status, 'ok');
    assert.equal(response.headers.get('x-trace-id'), TRACE_ID);
  });

  test('that fails throws one error, with or without its response', async () => {
    await using at = await setUp((res) => refuse(res, 404, 'INSTANCE_NOT_FOUND'));
    const unheard: unknown[] = [];
    const listen = (reason: unknown) => unheard.push(reason);
    process.on('unhandledRejection', listen);
    const call = at.client.instances.get({ instanceId: INSTANCE });
    await assert.rejects(call.withResponse(), { code: 'INSTANCE_NOT_FOUND' });
    await new Promise((resolve) => setTimeout(resolve, 20));
    process.off('unhandledRejection', listen);
    assert.deepEqual(unheard, []);
  });

  test('names the package and its version, and the program in front of it', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../sdk/package.json', import.meta.url), 'utf8'));
    await using at = await setUp((res) => json(res, 200, {}));
    await at.client.health.health();
    const named = createClient({ baseUrl: at.server.url, userAgent: 'my-app/1.0' });
    await named.health.health();
    const agent = `posthorn-sdk/${version} (node/${process.versions.node})`;
    assert.deepEqual(
      at.server.seen.map(({ headers }) => headers['user-agent']),
      [agent, `my-app/1.0 ${agent}`],
    );
  });

  test('works with a fetch that must not be called as a method, like the one of browsers', async () => {
    await using at = await setUp((res) => json(res, 200, { status: 'ok' }));
    const picky = function (this: unknown, ...given: Parameters<typeof fetch>) {
      if (this !== undefined && this !== globalThis) throw new TypeError('Illegal invocation');
      return fetch(...given);
    };
    const client = createClient({ baseUrl: at.server.url, fetch: picky });
    assert.equal((await client.health.health()).status, 'ok');
  });

  test('that reads its body later releases the signal at its end, and fails when nothing comes', async () => {
    await using at = await setUp((res, { url }) => {
      res.writeHead(200, { 'content-type': 'image/png', 'set-cookie': 'a=1' });
      if (url.endsWith('whole')) res.end('all of it');
      else res.write('a piece');
    });
    const { signal } = new AbortController();
    const download = (mediaId: string, timeoutMs = 30_000) =>
      at.client.media.download({ instanceId: INSTANCE, mediaId }, { signal, timeoutMs });
    const whole = await download('whole');
    assert.equal(await whole.text(), 'all of it');
    assert.deepEqual(whole.headers.getSetCookie(), ['a=1']);
    await (await download('cancelled')).body?.cancel();
    const silent = await download('silent', 3_000);
    await assert.rejects(silent.text(), {
      name: 'TimeoutError',
      message: 'the answer was silent for 3000 ms',
    });
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  test('that reads its body later ends with the reason of the caller who aborts it', async () => {
    await using at = await setUp(
      (res) => void res.writeHead(200, { 'content-type': 'image/png' }).write('x'),
    );
    const controller = new AbortController();
    const { signal } = controller;
    const answer = await at.client.media.download({ instanceId: INSTANCE, mediaId: 'm' }, { signal });
    const reason = new Error('enough');
    setTimeout(() => controller.abort(reason), 100);
    await assert.rejects(answer.arrayBuffer(), (error) => error === reason);
  });

  test('is logged without secrets, bodies and values in the path', async () => {
    const lines: [string, string, LogFields][] = [];
    const logger = {
      debug: (message: string, fields: LogFields) => lines.push(['debug', message, fields]),
      warn: (message: string, fields: LogFields) => lines.push(['warn', message, fields]),
    };
    await using at = await setUp((res, _, index) =>
      index === 0 ? refuse(res, 503, 'SERVICE_UNAVAILABLE') : json(res, 202, {}),
    );
    const client = createClient({ baseUrl: at.server.url, apiKey: 'svc_very_secret', logger });
    await client.messages.sendText({ instanceId: INSTANCE, body: { to: '+5511999990000', text: 'private' } });
    assert.deepEqual(
      lines.map(([level, message]) => `${level} ${message}`),
      ['debug request', 'warn trying again', 'debug request', 'debug response'],
    );
    await client.request({ path: `/v1/instances/${INSTANCE}/chats/5511999990000?name=private` });
    assert.equal(lines.at(-1)?.[2].path, '/v1/instances');
    const text = JSON.stringify(lines);
    assert.doesNotMatch(text, /svc_very|private|99999|6a2f41a3/);
    assert.match(text, /:instanceId/);
    assert.match(text, /"x-api-key":"\[redacted\]"/);
    assert.equal(lines[1]?.[2].traceId, TRACE_ID);
  });
});

describe('a session', () => {
  const jwt = (lifeSeconds: number, name: string) =>
    `h.${Buffer.from(JSON.stringify({ exp: Date.now() / 1000 + lifeSeconds, name })).toString('base64url')}.s`;

  /** Logs in with a token of the given lifetime; each refresh gives one of 15 minutes. */
  async function service(lifeSeconds: number, refuseTokens: number, logouts: number[] = []) {
    let refreshes = 0;
    let refused = 0;
    const at = await setUp((res, { url, headers }) => {
      const cookies = (token: string) => [
        `svc_refresh_token=${token}; Path=/; HttpOnly`,
        'svc_csrf_token=c; Path=/',
      ];
      if (url.endsWith('/login')) {
        return json(res, 200, { token: jwt(lifeSeconds, 'first') }, { 'set-cookie': cookies('r0') });
      }
      if (url.endsWith('/refresh')) {
        const isProven =
          headers['x-csrf-token'] === 'c' && headers.cookie?.includes(`svc_refresh_token=r${refreshes};`);
        if (!isProven) return refuse(res, 401, 'REFRESH_FAILED');
        refreshes += 1;
        return json(
          res,
          200,
          { token: jwt(900, `next${refreshes}`) },
          { 'set-cookie': cookies(`r${refreshes}`) },
        );
      }
      if (url.endsWith('/logout')) {
        const status = logouts.shift() ?? 204;
        return status === 204 ? void res.writeHead(204).end() : refuse(res, status, 'SERVICE_UNAVAILABLE');
      }
      if (refused++ < refuseTokens) return refuse(res, 401, 'TOKEN_EXPIRED');
      json(res, 200, { authorization: headers.authorization });
    });
    return { ...at, refreshes: () => refreshes };
  }

  test('renews its token once for all calls, shortly before it ends', async () => {
    const at = await service(10, 0);
    const kept: unknown[] = [];
    const session = createSession({
      baseUrl: at.server.url,
      onChange: (stored) => kept.push(stored?.refreshToken),
    });
    await session.login({ email: 'a@example.com', password: 'x' });
    const client = createClient({ baseUrl: at.server.url, session });
    await Promise.all([client.instances.list(), client.instances.list(), client.instances.list()]);
    assert.equal(at.refreshes(), 1);
    const resumed = createSession({ baseUrl: at.server.url, stored: session.stored() });
    assert.equal(await resumed.token(), session.stored()?.token);
    await session.logout();
    assert.equal(session.stored(), null);
    assert.deepEqual(kept, ['r0', 'r1', undefined]);
    await assert.rejects(client.instances.list(), { code: 'NO_CREDENTIALS' });
    await at.server.close();
  });

  test('ends at the service although one attempt is refused and another one finds it ended', async () => {
    const at = await service(900, 0, [503, 401]);
    const session = createSession({ baseUrl: at.server.url });
    await session.login({ email: 'a@example.com', password: 'x' });
    await session.logout();
    assert.equal(session.stored(), null);
    assert.equal(at.server.seen.filter(({ url }) => url.endsWith('/logout')).length, 2);
    await at.server.close();
  });

  test('answers an expired token with a new one and sends the same request again', async () => {
    const at = await service(900, 1);
    const session = createSession({ baseUrl: at.server.url });
    await session.login({ email: 'a@example.com', password: 'x' });
    const client = createClient({ baseUrl: at.server.url, session });
    await client.messages.sendText({ instanceId: INSTANCE, body: { to: '+5511999990000', text: 'hi' } });
    const keys = at.server.seen.map(({ headers }) => headers['idempotency-key']).filter(Boolean);
    assert.equal(keys.length, 2);
    assert.equal(keys[0], keys[1]);
    await at.server.close();
  });

  test('is not renewed for each call where the clocks differ', async () => {
    const hourAgoS = Math.floor(Date.now() / 1000) - 3_600;
    const claims = Buffer.from(JSON.stringify({ iat: hourAgoS, exp: hourAgoS + 900 })).toString('base64url');
    const server = await startHttp((res) => json(res, 200, { token: `h.${claims}.s` }));
    const session = createSession({ baseUrl: server.url });
    await session.login({ email: 'ana@example.com', password: 'correct horse battery' });
    const client = createClient({ baseUrl: server.url, session });
    await client.instances.list();
    assert.deepEqual(
      server.seen.map(({ url }) => url),
      ['/v1/auth/login', '/v1/instances'],
    );
    await server.close();
  });

  for (const next of ['login', 'logout'] as const)
    test(`is not undone by a renewal that is answered after a ${next}`, async () => {
      const claims = (name: string) =>
        Buffer.from(JSON.stringify({ iat: 0, exp: 900, name })).toString('base64url');
      const answers: Record<string, (res: ServerResponse) => void> = {
        '/v1/auth/refresh': (res) =>
          void setTimeout(() => json(res, 200, { token: `h.${claims('Ana')}.s` }), 300),
        '/v1/auth/login': (res) => json(res, 200, { token: `h.${claims('Bia')}.s` }),
        '/v1/auth/logout': (res) => void res.writeHead(204).end(),
      };
      const server = await startHttp((res, { url }) => answers[url]!(res));
      const stored = { token: 'old', expiresAtMs: Date.now(), refreshToken: 'r', csrfToken: 'c' };
      const session = createSession({ baseUrl: server.url, stored });
      const renewal = session.token();
      if (next === 'login') await session.login({ email: 'bia@example.com', password: 'x' });
      else await session.logout();
      await renewal;
      await server.close();
      assert.equal(session.stored()?.token ?? null, next === 'login' ? `h.${claims('Bia')}.s` : null);
    });

  test('does not hold a call that its caller aborts', async () => {
    const server = await startHttp(() => undefined);
    const session = { token: () => new Promise<string>(() => undefined), renew: async () => '' };
    const client = createClient({ baseUrl: server.url, session });
    await assert.rejects(client.instances.list({}, { signal: AbortSignal.timeout(100) }), {
      name: 'TimeoutError',
    });
    assert.equal(server.seen.length, 0);
    await server.close();
  });

  test('that the service refuses for good is an error, not a loop', async () => {
    const at = await service(900, 99);
    const session = createSession({ baseUrl: at.server.url });
    await session.login({ email: 'a@example.com', password: 'x' });
    const client = createClient({ baseUrl: at.server.url, session });
    await assert.rejects(client.instances.list(), { code: 'TOKEN_EXPIRED' });
    assert.equal(at.refreshes(), 1);
    await at.server.close();
  });
});
