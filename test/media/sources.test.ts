import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { after, before, beforeEach, describe, test } from 'node:test';
import { listen } from '../support/listen.ts';
import { sized } from '../support/size.ts';
import { mediaFamilySamples, type Sample } from './family-samples.ts';
import { jpeg, mp3, pdf, png } from './samples.ts';
import { type MediaServer, startMediaServer } from './support.ts';

const served = new Map<string, Buffer>();
let asked: string[] = [];
const files = createServer((request, response) => {
  asked.push(request.url!);
  const found = served.get(request.url!);
  if (!found) return response.writeHead(404).end();
  return response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(found);
});

let media: MediaServer;
let filesUrl: string;
let samples: Sample[];
before(async () => {
  const host = `127.0.0.1:${await listen(files)}`;
  filesUrl = `http://${host}`;
  media = await startMediaServer({ MEDIA_PRIVATE_HOSTS: host });
  samples = await mediaFamilySamples();
});
beforeEach(() => {
  asked = [];
});
after(async () => {
  await media.close();
  files.close();
});

let chats = 0;
const newChat = () => `55119${String(++chats).padStart(8, '0')}`;

function send(route: string, body: object, key: string = randomUUID()) {
  return media.call('POST', `${media.base}/messages/${route}`, {
    key: media.company.apiKey,
    body,
    headers: { 'idempotency-key': key },
  });
}

interface Queued {
  type: string;
  media_id: string;
  content: Record<string, unknown>;
  source: string;
  mime_type: string;
  expires_at: Date | null;
  sha256: string;
}

async function queued(messageId: string): Promise<Queued> {
  const found = await media.parts.db.query<Queued>(
    `SELECT m.type, m.media_id, m.content, s.source, s.mime_type, s.expires_at, encode(s.sha256, 'hex') AS sha256
     FROM messages m JOIN media s ON s.id = m.media_id WHERE m.id = $1`,
    [messageId],
  );
  assert.equal(found.rowCount, 1, 'the message was queued with stored media');
  return found.rows[0]!;
}

describe('the four forms of a media source', () => {
  test('all queue the same stored media by its id, for every route', async () => {
    for (const [nth, { route, status, bytes, mime }] of samples.entries()) {
      const to = () => (status ? {} : { to: newChat() });
      served.set(`/sample-${nth}`, bytes);
      const uploaded = await media.upload(bytes, { name: 'original.bin' });
      const base64 = bytes.toString('base64');
      const forms: [string, () => Promise<{ status: number; body: { message_id: string } }>][] = [
        ['url-cache', () => send(route, { ...to(), media_url: `${filesUrl}/sample-${nth}` })],
        ['base64', () => send(route, { ...to(), media_base64: base64 })],
        ['base64', () => send(route, { ...to(), media_base64: `data:${mime};base64,${base64}` })],
        [
          'uploads',
          () =>
            media.upload(bytes, {
              path: `${media.base}/messages/${route}`,
              fields: to() as Record<string, string>,
              idempotencyKey: randomUUID(),
            }),
        ],
      ];
      if (uploaded.status === 201)
        forms.push(['uploads', () => send(route, { ...to(), media_id: uploaded.body.media_id })]);
      for (const [source, ask] of forms) {
        const answer = await ask();
        assert.equal(answer.status, 202, `${route} from ${source}: ${JSON.stringify(answer.body)}`);
        const row = await queued(answer.body.message_id);
        assert.equal(row.source, source, route);
        assert.equal(row.mime_type, mime, route);
        assert.equal(row.expires_at === null, source === 'base64', `${route} from ${source}`);
        // The worker gets an id and nothing else.
        assert.equal(JSON.stringify(row.content).includes(base64.slice(0, 40)), false);
        assert.equal(JSON.stringify(row.content).includes('http://'), false);
      }
    }
  });

  test('exclude each other', async () => {
    const source = { media_url: `${filesUrl}/x`, media_id: randomUUID(), media_base64: 'aGVsbG8=' };
    const names = Object.keys(source) as (keyof typeof source)[];
    for (const [a, b] of [
      [0, 1],
      [0, 2],
      [1, 2],
    ] as const) {
      const answer = await send('image', {
        to: newChat(),
        [names[a]!]: source[names[a]!],
        [names[b]!]: source[names[b]!],
      });
      assert.equal(answer.status, 400);
      assert.equal(answer.body.message, 'provide only one of media_url, media_id, media_base64');
    }
    const withFile = await media.upload(await png(), {
      path: `${media.base}/messages/image`,
      fields: { to: newChat(), media_id: randomUUID() },
      idempotencyKey: randomUUID(),
    });
    assert.equal(withFile.body.message, 'provide only one of media_url, media_id, media_base64');
    const none = await send('image', { to: newChat() });
    assert.deepEqual([none.status, none.body.error_code], [400, 'MISSING_FIELD']);
    assert.deepEqual(asked, []);
  });

  test('all need the Idempotency-Key, before anything is read or fetched', async () => {
    const answer = await media.call('POST', `${media.base}/messages/image`, {
      key: media.company.apiKey,
      body: { to: newChat(), media_url: `${filesUrl}/image` },
    });
    assert.equal(answer.body.error_code, 'IDEMPOTENCY_KEY_REQUIRED');
    const form = await media.upload(await png(), {
      path: `${media.base}/messages/image`,
      fields: { to: newChat() },
    });
    assert.equal(form.body.error_code, 'IDEMPOTENCY_KEY_REQUIRED');
    assert.deepEqual(asked, []);
  });

  test('with media of the wrong kind answer an error of their own for each way', async () => {
    const text = Buffer.from('%PDF-1.4 not a picture');
    served.set('/wrong', text);
    const byUrl = await send('image', { to: newChat(), media_url: `${filesUrl}/wrong` });
    assert.deepEqual([byUrl.status, byUrl.body.error_code], [502, 'MEDIA_FETCH_FAILED']);
    assert.match(byUrl.body.message, /unsupported media MIME type application\/pdf$/);
    const byBase64 = await send('image', { to: newChat(), media_base64: text.toString('base64') });
    assert.deepEqual([byBase64.status, byBase64.body.error_code], [415, 'UNSUPPORTED_MEDIA_TYPE']);
    const stored = await media.upload(pdf(), { name: 'a.pdf' });
    const byId = await send('sticker', { to: newChat(), media_id: stored.body.media_id });
    assert.deepEqual([byId.status, byId.body.error_code], [415, 'UNSUPPORTED_MEDIA_TYPE']);
    for (const [{ body }, kind] of [
      [byBase64, 'image'],
      [byId, 'sticker'],
    ] as const)
      assert.match(body.message, new RegExp(`MIME type application/pdf: it cannot be sent as ${kind}$`));
    const unknown = await send('image', { to: newChat(), media_id: randomUUID() });
    assert.deepEqual([unknown.status, unknown.body.error_code], [404, 'NOT_FOUND']);
  });

  test('with a URL answer 502 whatever the fetch fails with, and queue nothing', async () => {
    const before = await media.parts.db.query('SELECT 1 FROM outbox');
    for (const url of [
      `${filesUrl}/nothing`,
      'http://127.0.0.1:1/x',
      'http://nowhere.invalid/x',
      'ftp://a/b',
    ]) {
      const answer = await send('video', { to: newChat(), media_url: url });
      assert.deepEqual([answer.status, answer.body.error_code], [502, 'MEDIA_FETCH_FAILED'], url);
    }
    const after = await media.parts.db.query('SELECT 1 FROM outbox');
    assert.equal(after.rowCount, before.rowCount);
  });
});

describe('a form', () => {
  test('takes mentions repeated, as CSV and as a JSON array, wherever the file is in the form', async () => {
    const [a, b] = ['5511900000001@s.whatsapp.net', '5511900000002@s.whatsapp.net'];
    for (const mentions of [
      [a, b],
      [`${a},${b}`],
      [`${a}, ${b}`],
      [JSON.stringify([a, b])],
      [a, `["${b}"]`],
    ]) {
      const form = new FormData();
      form.append('file', new Blob([(await jpeg()) as Buffer<ArrayBuffer>]), 'a.jpg');
      form.append('to', newChat());
      form.append('caption', 'hello');
      for (const mention of mentions) form.append('mentions', mention!);
      const response = await fetch(`${media.url}${media.base}/messages/image`, {
        method: 'POST',
        body: form,
        headers: { 'x-api-key': media.company.apiKey, 'idempotency-key': randomUUID() },
      });
      const body = (await response.json()) as { message_id: string };
      assert.equal(response.status, 202, JSON.stringify(body));
      const { content } = await queued(body.message_id);
      assert.deepEqual(content, { caption: 'hello', mentions: [a, b] });
    }
  });

  test('takes ptt as a boolean and refuses anything else', async () => {
    const bytes = await mp3(1);
    for (const [ptt, expected] of [
      ['true', true],
      ['false', false],
      [undefined, true],
    ] as const) {
      const answer = await media.upload(bytes, {
        path: `${media.base}/messages/audio`,
        fields: { to: newChat(), ...(ptt ? { ptt } : {}) },
        idempotencyKey: randomUUID(),
      });
      assert.equal(answer.status, 202, JSON.stringify(answer.body));
      assert.equal((await queued(answer.body.message_id)).content.ptt, expected);
    }
    for (const ptt of ['yes please', '2', 'null']) {
      const answer = await media.upload(bytes, {
        path: `${media.base}/messages/audio`,
        fields: { to: newChat(), ptt },
        idempotencyKey: randomUUID(),
      });
      assert.deepEqual([answer.status, answer.body.error_code], [400, 'BAD_REQUEST'], ptt);
    }
  });
});

describe('one address', () => {
  test('is fetched once in 7 days, by however many sends at the same time', async () => {
    served.set('/shared', await png());
    const url = `${filesUrl}/shared`;
    const first = await Promise.all(
      Array.from({ length: 20 }, () => send('image', { to: newChat(), media_url: url })),
    );
    const ids = new Set<string>();
    for (const { status, body } of first) {
      assert.equal(status, 202);
      ids.add((await queued(body.message_id)).media_id);
    }
    assert.equal(ids.size, 1);
    assert.deepEqual(asked, ['/shared']);
    media.parts.clock.advance(6 * 86_400_000);
    await send('image', { to: newChat(), media_url: url });
    assert.equal(asked.length, 1);
    media.parts.clock.advance(86_400_000 + 1000);
    await send('image', { to: newChat(), media_url: url });
    assert.equal(asked.length, 2);
  });
});

const REPEATS = sized(12, 50, 50);

describe(`${REPEATS} repeats of one send at the same time`, () => {
  test('make one message for every route in each form, and another body is refused', async () => {
    for (const [nth, { route, status, bytes }] of samples.entries()) {
      for (const [form, [same, different]] of Object.entries(await formsOf(route, bytes, `/repeat-${nth}`))) {
        const name = `${route} by ${form}`;
        const [to, key] = [status ? {} : { to: newChat() }, randomUUID()];
        const answers = await Promise.all(Array.from({ length: REPEATS }, () => same(to, key)));
        assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([202]), name);
        assert.equal(new Set(answers.map(({ body }) => body.message_id)).size, 1, name);
        assert.equal(new Set(answers.map(({ body }) => body.task_id)).size, 1, name);
        const late = await same(to, key);
        assert.equal(late.headers.get('idempotent-replayed'), 'true', name);
        const changed = await different(to, key);
        assert.deepEqual([changed.status, changed.body.error_code], [422, 'IDEMPOTENCY_KEY_REUSED'], name);
      }
    }
  });
});

/** The same send by each form, beside one with other media. */
async function formsOf(route: string, bytes: Buffer, path: string): Promise<Record<string, [Ask, Ask]>> {
  served.set(path, bytes);
  const other = Buffer.concat([bytes, Buffer.alloc(1)]);
  const json = (body: object) => (to: object, key: string) => send(route, { ...to, ...body }, key);
  const file = (content: Buffer) => (to: object, idempotencyKey: string) =>
    media.upload(content, {
      path: `${media.base}/messages/${route}`,
      fields: to as Record<string, string>,
      idempotencyKey,
    });
  const forms: Record<string, [Ask, Ask]> = {
    url: [json({ media_url: `${filesUrl}${path}` }), json({ media_url: `${filesUrl}${path}?2` })],
    base64: [
      json({ media_base64: bytes.toString('base64') }),
      json({ media_base64: other.toString('base64') }),
    ],
    file: [file(bytes), file(other)],
  };
  const uploaded = await media.upload(bytes);
  if (uploaded.status === 201)
    forms.id = [json({ media_id: uploaded.body.media_id }), json({ media_id: randomUUID() })];
  return forms;
}

type Ask = (
  to: object,
  key: string,
) => Promise<{
  status: number;
  headers: Headers;
  body: { message_id: string; task_id: string; error_code: string };
}>;
