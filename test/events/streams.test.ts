import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { JWT_LIFETIME_S } from '@posthorn/contract/limits.ts';
import { createJwt } from '@posthorn/core/accounts/authentication/jwt.ts';
import { decodeCursor, encodeCursor } from '@posthorn/core/events/cursor.ts';
import { createEventFeed } from '@posthorn/core/events/event-feed.ts';
import { insertEvents } from '@posthorn/core/events/insert-events.ts';
import { listEvents } from '@posthorn/core/events/list-events.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { createLiveConnections } from '@posthorn/server/http/live-connections.ts';
import { openEventStream } from '@posthorn/server/http/sse.ts';
import { WebSocket } from 'ws';
import { testConfig } from '../support/config.ts';
import { listen } from '../support/listen.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance, seedSession } from '../support/seed.ts';
import { newEvent, putEvent, readSse, startMessaging } from './support.ts';

let parts: Parts;
let company: SeededCompany;
let other: SeededCompany;
let server: { url: string; close(): Promise<void> };
let auth: { 'x-api-key': string };

before(async () => {
  parts = await createParts();
  company = await seedCompany(parts.db);
  other = await seedCompany(parts.db);
  auth = { 'x-api-key': company.apiKey };
  server = await startMessaging(parts);
});
after(async () => {
  await server.close();
  await parts.close();
});

const stream = (query = '') => `${server.url}/v1/events/stream${query}`;
const emit = async (companyId = company.companyId, more = {}) => {
  const event = await putEvent(parts.db, companyId, more);
  parts.bus.notify('events', String(companyId));
  return event;
};

/** A database that is slow to answer where the log ends. */
function readsEndSlowly(db: Db): Db {
  const query = async (config: { name?: string }, values?: unknown[]) => {
    if (config.name === 'events-end') await delay(200);
    return (db.query as (...args: unknown[]) => Promise<unknown>)(config, values);
  };
  return { ...db, query } as Db;
}

describe('GET /v1/events/stream', () => {
  test('an event reaches the reader in the same form as on every other way, and reaches nobody else', async () => {
    const reader = await readSse(stream(), auth);
    assert.equal(reader.status, 200);
    assert.match(reader.response.headers['content-type'] ?? '', /^text\/event-stream/);
    assert.match(reader.response.headers['x-trace-id'] as string, /^[0-9a-f-]{36}$/);
    await emit(other.companyId);
    const event = await emit(company.companyId, { data: { caption: 'ol\u00e1 \u2028 "quoted"\nline' } });
    await waitFor(() => reader.frames.length > 0);
    reader.cut();
    assert.equal(reader.frames.length, 1);
    assert.equal(reader.frames[0]!.event, event.type);
    const shown = await fetch(`${server.url}/v1/events/${event.eventId}`, { headers: auth });
    assert.deepEqual(JSON.parse(reader.frames[0]!.data), await shown.json());
    assert.deepEqual(JSON.parse(reader.frames[0]!.data), {
      event_id: event.eventId,
      type: event.type,
      created_at: event.createdAt.toISOString(),
      company_id: company.companyId,
      instance_id: null,
      data: event.data,
    });
  });

  test('instance and type filters let through only the events that were asked for', async () => {
    const instanceId = await seedInstance(parts.db, company.companyId);
    const reader = await readSse(stream(`?instance_id=${instanceId}&types=message.*,status.viewed`), auth);
    await emit(company.companyId, { instanceId, type: 'label.created' });
    await emit(company.companyId, { type: 'message.sent' });
    const wanted = [
      await emit(company.companyId, { instanceId, type: 'message.sent' }),
      await emit(company.companyId, { instanceId, type: 'status.viewed' }),
    ];
    await waitFor(() => reader.frames.length >= 2);
    reader.cut();
    assert.deepEqual(
      reader.frames.map((frame) => JSON.parse(frame.data).event_id),
      wanted.map((event) => event.eventId),
    );
  });

  test('an instance of another company is not found, and a made-up cursor is refused', async () => {
    const foreign = await seedInstance(parts.db, other.companyId);
    const missing = await readSse(stream(`?instance_id=${foreign}`), auth);
    await missing.closed;
    assert.equal(missing.status, 404);
    assert.equal(JSON.parse(missing.body).error_code, 'INSTANCE_NOT_FOUND');
    const madeUp = await readSse(stream(), { ...auth, 'last-event-id': 'not a cursor' });
    await madeUp.closed;
    assert.equal(madeUp.status, 400);
  });

  test('a reader that comes back with its last id gets the missed events, once and in order', async () => {
    const reader = await readSse(stream(), auth);
    const first = await emit();
    await waitFor(() => reader.frames.length > 0);
    reader.cut();
    const missed = [];
    for (let i = 0; i < 250; i += 1) missed.push(await emit());
    const again = await readSse(stream(), { ...auth, 'last-event-id': reader.lastId() });
    await waitFor(() => again.frames.length >= missed.length);
    const live = await emit();
    await waitFor(() => again.frames.length > missed.length);
    again.cut();
    assert.deepEqual(
      [...reader.frames, ...again.frames].map((frame) => JSON.parse(frame.data).event_id),
      [first, ...missed, live].map((event) => event.eventId),
    );
  });

  test('an event that commits after later ones is not skipped', async () => {
    const reader = await readSse(stream(), auth);
    const late = newEvent(company.companyId);
    let early: Awaited<ReturnType<typeof emit>> | null = null;
    await parts.db.transaction(async (client) => {
      await putEvent(client, company.companyId, late);
      early = await emit();
      await delay(300);
      assert.equal(reader.frames.length, 0, 'nothing may overtake a transaction that is still running');
    });
    await waitFor(() => reader.frames.length >= 2);
    reader.cut();
    assert.deepEqual(
      reader.frames.map((frame) => JSON.parse(frame.data).event_id),
      [late.eventId, early!.eventId],
    );
  });

  test('an event that commits after the answer has begun is never missed, however slowly the log is read', async () => {
    const slow = await startMessaging(parts, {}, readsEndSlowly);
    try {
      const reader = await readSse(`${slow.url}/v1/events/stream`, auth);
      const first = await emit();
      await waitFor(() => reader.frames.length > 0);
      reader.cut();
      assert.equal(JSON.parse(reader.frames[0]!.data).event_id, first.eventId);
      const socket = new WebSocket(`${slow.url.replace('http', 'ws')}/v1/events/ws`, { headers: auth });
      const seen: string[] = [];
      socket.on('message', (text) => seen.push(JSON.parse(String(text)).event_id));
      await new Promise((resolve) => socket.once('open', resolve));
      const second = await emit();
      await waitFor(() => seen.includes(second.eventId));
      socket.terminate();
    } finally {
      await slow.close();
    }
  });

  test('a cursor older than the log is answered by an explicit reset, and what the log has follows', async () => {
    const kept = await emit();
    const old = encodeCursor({ tx: 1, id: 1, atMs: parts.clock.now().getTime() - 15 * 86_400_000 });
    const reader = await readSse(stream(), { ...auth, 'last-event-id': old });
    const ids = () => reader.frames.slice(1).map(({ data }) => JSON.parse(data).event_id);
    await waitFor(() => ids().includes(kept.eventId));
    const event = await emit();
    await waitFor(() => ids().at(-1) === event.eventId);
    reader.cut();
    assert.equal(reader.frames[0]!.event, 'reset');
    const { reason, cursor } = JSON.parse(reader.frames[0]!.data);
    assert.equal(reason, 'cursor_expired');
    assert.equal(cursor, reader.frames[0]!.id);
    assert.notEqual(decodeCursor(cursor), null);
  });

  test('a revoked key or a suspended company ends the stream with the cursor to come back with', async () => {
    const reader = await readSse(stream(), auth);
    await emit();
    await waitFor(() => reader.frames.length > 0);
    parts.bus.notify('auth', `company:${company.companyId}`);
    await reader.closed;
    const last = reader.frames.at(-1)!;
    assert.equal(last.event, 'end');
    assert.equal(JSON.parse(last.data).reason, 'credentials_changed');
    assert.equal(JSON.parse(last.data).cursor, last.id);
  });

  test('a browser opens a stream with a ticket for a minute, and only with one that was not altered', async () => {
    const issued = await fetch(`${server.url}/v1/events/ticket`, { method: 'POST', headers: auth });
    assert.equal(issued.status, 201);
    const { ticket } = (await issued.json()) as { ticket: string };
    const reader = await readSse(stream(`?ticket=${ticket}`), {});
    assert.equal(reader.status, 200);
    const event = await emit();
    await waitFor(() => reader.frames.length > 0);
    reader.cut();
    assert.equal(JSON.parse(reader.frames[0]!.data).event_id, event.eventId);
    const forged = ticket.replace(/^./, (letter) => (letter === 'e' ? 'f' : 'e'));
    assert.equal((await readSse(stream(`?ticket=${forged}`), {})).status, 401);
    const late = await newTicket();
    parts.clock.advance(61_000);
    assert.deepEqual(await refusal(late), [401, 'TOKEN_EXPIRED']);
  });

  async function newTicket(headers: Record<string, string> = auth): Promise<string> {
    const issued = await fetch(`${server.url}/v1/events/ticket`, { method: 'POST', headers });
    assert.equal(issued.status, 201);
    return ((await issued.json()) as { ticket: string }).ticket;
  }

  async function refusal(ticket: string): Promise<[status: number, code: string]> {
    const answer = await fetch(stream(`?ticket=${ticket}`));
    const { error_code } = (await answer.json()) as { error_code: string };
    return [answer.status, error_code];
  }

  test('a ticket opens one stream, also when two come at the same time', async () => {
    const ticket = await newTicket();
    const opened = await Promise.all([1, 2, 3].map(() => readSse(stream(`?ticket=${ticket}`), {})));
    assert.deepEqual(opened.map(({ status }) => status).sort(), [200, 401, 401]);
    for (const reader of opened) reader.cut();
    assert.deepEqual(await refusal(ticket), [401, 'TOKEN_INVALID']);
  });

  test('a ticket dies with the logout, the password and the end of the JWT that asked for it', async () => {
    const session = await newSession();
    const bearer = { authorization: `Bearer ${session.token}` };
    const logout = await newTicket(bearer);
    await parts.db.query('INSERT INTO revoked_jwts (jti, company_id, expires_at) VALUES ($1, $2, $3)', [
      session.jti,
      company.companyId,
      new Date(parts.clock.now().getTime() + 3_600_000),
    ]);
    assert.deepEqual(await refusal(logout), [401, 'TOKEN_INVALID']);

    const changed = await newTicket();
    await parts.db.query(
      `UPDATE users SET password_changed_at = password_changed_at + interval '1 ms' WHERE id = $1`,
      [company.userId],
    );
    assert.deepEqual(await refusal(changed), [401, 'PASSWORD_CHANGED']);

    const brief = await newSession();
    parts.clock.advance((JWT_LIFETIME_S - 10) * 1000);
    const last = await newTicket({ authorization: `Bearer ${brief.token}` });
    parts.clock.advance(11_000);
    assert.deepEqual(await refusal(last), [401, 'TOKEN_EXPIRED']);
  });

  test('a stream ends with the JWT it was opened with, also through a ticket, and not before', async () => {
    const { token } = await newSession();
    const bearer = { authorization: `Bearer ${token}` };
    const direct = await readSse(stream(), bearer);
    const ticketed = await readSse(stream(`?ticket=${await newTicket(bearer)}`), {});
    const byKey = await readSse(stream(), auth);
    parts.clock.advance((JWT_LIFETIME_S - 1) * 1000);
    await emit();
    await waitFor(() => direct.frames.some(({ event }) => event !== 'end') && ticketed.frames.length > 0);
    assert.ok(![...direct.frames, ...ticketed.frames].some(({ event }) => event === 'end'));
    parts.clock.advance(2_000);
    for (const reader of [direct, ticketed]) {
      await reader.closed;
      const last = reader.frames.at(-1)!;
      assert.deepEqual([last.event, JSON.parse(last.data).reason], ['end', 'credentials_expired']);
    }
    const after = await emit();
    await waitFor(() => byKey.frames.some(({ data }) => data.includes(after.eventId)));
    byKey.cut();
  });

  test('a company and a key have so many streams, and get one back when one closes', async () => {
    const limited = await startMessaging(parts, { STREAMS_PER_KEY: '2', STREAMS_PER_COMPANY: '3' });
    const mine = await seedCompany(parts.db);
    const bearer = { authorization: `Bearer ${(await newSession(mine)).token}` };
    const byKey = { 'x-api-key': mine.apiKey };
    const open = (headers: Record<string, string>) => readSse(`${limited.url}/v1/events/stream`, headers);
    try {
      const readers = [await open(byKey), await open(byKey)];
      const refused = await fetch(`${limited.url}/v1/events/stream`, { headers: byKey });
      assert.equal(refused.status, 429);
      assert.equal(((await refused.json()) as { error_code: string }).error_code, 'RATE_LIMITED');
      assert.ok(Number(refused.headers.get('retry-after')) >= 1);
      const third = await open(bearer);
      assert.deepEqual(
        [...readers, third].map(({ status }) => status),
        [200, 200, 200],
      );
      // The company has its three streams, so its user gets no second one, not even over a WebSocket.
      assert.equal((await fetch(`${limited.url}/v1/events/stream`, { headers: bearer })).status, 429);
      const socket = new WebSocket(`${limited.url.replace('http', 'ws')}/v1/events/ws`, { headers: bearer });
      socket.on('error', () => undefined);
      const status = await new Promise((resolve) => {
        socket.once('unexpected-response', (_request, response) => resolve(response.statusCode));
        socket.once('open', () => resolve('open'));
      });
      assert.equal(status, 429);
      socket.terminate();
      readers[0]!.cut();
      await waitFor(async () => {
        const again = await open(byKey);
        again.cut();
        return again.status === 200;
      });
      for (const reader of [...readers, third]) reader.cut();
    } finally {
      await limited.close();
    }
  });

  for (const kind of ['stream', 'ws'])
    test(`a client that leaves while its connection to /v1/events/${kind} is being opened takes no place`, async () => {
      const limited = await startMessaging(parts, { STREAMS_PER_KEY: '1' }, readsEndSlowly);
      try {
        for (let i = 0; i < 2; i += 1) await leaveEarly(limited.url, kind);
        await waitFor(async () => {
          const reader = await readSse(`${limited.url}/v1/events/stream`, auth);
          reader.cut();
          return reader.status === 200;
        });
      } finally {
        await limited.close();
      }
    });

  /** Begins a handshake, and breaks the connection before it is answered. */
  async function leaveEarly(url: string, kind: string): Promise<void> {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const upgrade =
      'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n' +
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
    socket.write(
      `GET /v1/events/${kind} HTTP/1.1\r\nhost: x\r\nx-api-key: ${auth['x-api-key']}\r\n${kind === 'ws' ? upgrade : ''}\r\n`,
    );
    await delay(100);
    socket.resetAndDestroy();
    await delay(200);
  }

  async function newSession(of = company): Promise<{ token: string; jti: string }> {
    const jwt = createJwt({ secret: testConfig().JWT_SECRET, clock: parts.clock });
    const token = await jwt.sign({
      companyId: of.companyId,
      userId: of.userId,
      role: 'owner',
      isSuperadmin: false,
      // In the future: a change of the password in a test must not end it.
      pwdChangedAtMs: parts.clock.now().getTime() + 86_400_000,
      ...(await seedSession(parts.db, of)),
    });
    return { token, jti: (await jwt.verify(token)).jti };
  }
});

describe('GET /v1/events/ws', () => {
  const open = (query = '', headers: Record<string, string> = auth) =>
    new WebSocket(`${server.url.replace('http', 'ws')}/v1/events/ws${query}`, { headers });
  const frames = (socket: WebSocket) => {
    const got: Record<string, unknown>[] = [];
    socket.on('message', (data) => {
      const frame = JSON.parse(String(data));
      if (!frame.heartbeat) got.push(frame);
    });
    return got;
  };

  test('each frame is an event with its cursor, and a reader resumes after it', async () => {
    const socket = open();
    const got = frames(socket);
    await new Promise((resolve) => socket.once('open', resolve));
    const first = await emit();
    await waitFor(() => got.length > 0);
    socket.terminate();
    const { cursor, ...event } = got[0]!;
    const shown = await fetch(`${server.url}/v1/events/${first.eventId}`, { headers: auth });
    assert.deepEqual(event, await shown.json());
    const second = await emit();
    const again = open(`?after=${cursor}&types=message.*`);
    const gotAgain = frames(again);
    await waitFor(() => gotAgain.length > 0);
    again.terminate();
    assert.equal(gotAgain[0]!.event_id, second.eventId);
  });

  test('a handshake without credentials or with a bad cursor is answered with the error', async () => {
    for (const [query, headers, status] of [
      ['', {}, 401],
      ['?after=nonsense', auth, 400],
    ] as const) {
      const socket = open(query, headers);
      const answered = await new Promise<number>((resolve) => {
        socket.on('unexpected-response', (_req, response) => resolve(response.statusCode ?? 0));
        socket.on('error', () => undefined);
      });
      assert.equal(answered, status);
    }
  });
});

describe('GET /v1/events', () => {
  const list = async (query: string) => {
    const response = await fetch(`${server.url}/v1/events${query}`, { headers: auth });
    const body = (await response.json()) as {
      data: { event_id: string; cursor: string }[];
      next_cursor: string | null;
    };
    return { status: response.status, ...body };
  };

  test('pages newest first, and oldest first after a cursor, without a gap or a repeat', async () => {
    const instanceId = await seedInstance(parts.db, company.companyId);
    const ids: string[] = [];
    for (let i = 0; i < 25; i += 1) ids.push((await emit(company.companyId, { instanceId })).eventId);
    // A reader never sees past a running transaction, even of another test: the newest events may take a moment.
    await waitFor(async () => (await list(`?instance_id=${instanceId}&limit=200`)).data.length === 25);
    const backwards: string[] = [];
    let query = `?instance_id=${instanceId}&limit=10`;
    for (;;) {
      const page = await list(query);
      backwards.push(...page.data.map((event) => event.event_id));
      if (page.next_cursor === null) break;
      query = `?instance_id=${instanceId}&limit=10&before=${page.next_cursor}`;
    }
    assert.deepEqual(backwards, ids.toReversed());
    const oldest = await list(`?instance_id=${instanceId}&limit=200`);
    const forwards = [ids[0]!];
    let after: string | null = oldest.data.at(-1)!.cursor;
    while (after) {
      const page = await list(`?instance_id=${instanceId}&limit=7&after=${after}`);
      forwards.push(...page.data.map((event) => event.event_id));
      after = page.next_cursor;
    }
    assert.deepEqual(forwards, ids);
  });

  test('reports when events after the cursor may be missing: it expired, or is of another log', async () => {
    const nowMs = parts.clock.now().getTime();
    const list = async (after: string) =>
      (await fetch(`${server.url}/v1/events?after=${after}`, { headers: auth })).json() as Promise<{
        data: { event_id: string; cursor: string }[];
        next_cursor: string | null;
        reset: boolean;
      }>;
    const event = await emit();
    await waitFor(async () => {
      const response = await fetch(`${server.url}/v1/events?limit=1`, { headers: auth });
      return (
        ((await response.json()) as { data: { event_id: string }[] }).data[0]?.event_id === event.eventId
      );
    });
    const kept = await list(encodeCursor({ tx: 1, id: 1, atMs: nowMs - 13 * 86_400_000 }));
    assert.equal(kept.reset, false);
    const expired = await list(encodeCursor({ tx: 1, id: 1, atMs: nowMs - 15 * 86_400_000 }));
    assert.equal(expired.reset, true);
    assert.deepEqual(expired.data, kept.data, 'and what is kept follows all the same');
    const rare = '&types=message_template.quality_changed';
    const empty = await list(encodeCursor({ tx: 1, id: 1, atMs: nowMs - 15 * 86_400_000 }) + rare);
    assert.deepEqual([empty.reset, empty.data], [true, []]);
    const afterEmpty = await list(empty.next_cursor! + rare);
    assert.deepEqual(
      [afterEmpty.reset, afterEmpty.next_cursor],
      [false, null],
      'there is a cursor to go on with',
    );
    const ahead = await list(encodeCursor({ tx: Number.MAX_SAFE_INTEGER, id: 0, atMs: nowMs }));
    assert.deepEqual([ahead.reset, ahead.data], [true, []]);
    const next = await emit();
    const goneOn = await waitFor(async () => {
      const page = await list(ahead.next_cursor!);
      return page.data.some((item) => item.event_id === next.eventId) && page;
    });
    assert.equal(goneOn.reset, false);
  });

  test('a rare filter may take several pages, each of which looks at a bounded part of the log', async () => {
    const { companyId, apiKey } = await seedCompany(parts.db);
    const rare = await putEvent(parts.db, companyId, { type: 'message.starred' });
    const others = Array.from({ length: 1_000 }, () => newEvent(companyId));
    await insertEvents(parts.db, others);
    // The log shows nothing past a running transaction, even of another test.
    await waitFor(async () => {
      const { data } = await listEvents(parts, { companyId, instanceId: null, types: null, limit: 1 });
      return data[0]?.event_id === others.at(-1)!.eventId;
    });
    let query = '?types=message.starred&limit=1';
    const pages: number[] = [];
    for (;;) {
      const response = await fetch(`${server.url}/v1/events${query}`, { headers: { 'x-api-key': apiKey } });
      const page = (await response.json()) as { data: { event_id: string }[]; next_cursor: string | null };
      pages.push(page.data.length);
      if (page.data[0]) assert.equal(page.data[0].event_id, rare.eventId);
      if (page.data.length > 0 || page.next_cursor === null) break;
      query = `?types=message.starred&limit=1&before=${page.next_cursor}`;
    }
    assert.equal(pages.at(-1), 1, 'it is found');
    assert.ok(pages.length > 2, `in ${pages.length} pages`);
  });

  test('an event of another company answers the same as one that never existed', async () => {
    const foreign = await putEvent(parts.db, other.companyId);
    const answers = await Promise.all(
      [foreign.eventId, '00000000-0000-7000-8000-000000000000', 'nonsense'].map(async (id) => {
        const response = await fetch(`${server.url}/v1/events/${id}`, { headers: auth });
        const { trace_id: _, ...body } = (await response.json()) as Record<string, unknown>;
        return { status: response.status, body };
      }),
    );
    assert.equal(answers[0]!.status, 404);
    assert.deepEqual(answers[1], answers[0]);
    assert.deepEqual(answers[2], answers[0]);
  });
});

test('a reader that takes nothing is cut off, and only little is kept for it meanwhile', async () => {
  const feed = createEventFeed({ ...parts, retentionDays: 14, stallMs: 1_000 });
  const connections = createLiveConnections(parts);
  let buffered = 0;
  const http = createServer((request, response) => {
    const poll = setInterval(() => {
      buffered = Math.max(buffered, response.writableLength);
    }, 5);
    response.once('close', () => clearInterval(poll));
    void openEventStream(
      { db: parts.db, feed, connections },
      {
        principal: company.principal,
        startedAt: performance.now(),
        query: {},
        headers: request.headers,
        takeResponse: () => ({ request, response, headers: {} }),
      },
    );
  });
  const port = await listen(http);
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  socket.pause();
  await waitFor(() => feed.readers().live === 1);
  const data = { text: 'x'.repeat(12_800) };
  for (let i = 0; i < 150; i += 1) {
    await insertEvents(
      parts.db,
      Array.from({ length: 20 }, () => newEvent(company.companyId, { data })),
    );
    parts.bus.notify('events', String(company.companyId));
  }
  await waitFor(() => feed.readers().live + feed.readers().behind === 0);
  assert.ok(buffered > 256 * 1024, `it was held back: ${buffered}`);
  assert.ok(buffered < 1024 * 1024, `of 38 MB at most a page of 256 kB beside what it had: ${buffered}`);
  socket.destroy();
  await feed.close();
  http.closeAllConnections();
  http.close();
});
