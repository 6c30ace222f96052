import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { MEDIA_MAX_BYTES } from '@posthorn/contract/limits.ts';
import { listen } from '../support/listen.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';
import { bigJpeg, jpeg, mp4, pdf, png, wav, webp } from './samples.ts';
import { type MediaServer, startMediaServer } from './support.ts';

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The files that the test's server offers, by path. */
const served = new Map<string, { type: string; body: Buffer }>();
let asked = 0;
const files = createServer((request, response) => {
  asked += 1;
  const found = served.get(request.url!);
  if (!found) return response.writeHead(404).end('no');
  return response.writeHead(200, { 'content-type': found.type }).end(found.body);
});

let media: MediaServer;
let filesUrl: string;
before(async () => {
  const host = `127.0.0.1:${await listen(files)}`;
  filesUrl = `http://${host}`;
  media = await startMediaServer({ MEDIA_PRIVATE_HOSTS: host });
});
after(async () => {
  await media.close();
  files.close();
});

const post = (body: unknown) =>
  media.call('POST', `${media.base}/media`, { key: media.company.apiKey, body });

describe('an uploaded file', () => {
  test('gets a version 4 UUID and is given back byte for byte', async () => {
    const bytes = await jpeg();
    const { status, body } = await media.upload(bytes, { name: 'cat.jpg', type: 'image/jpeg' });
    assert.equal(status, 201);
    assert.match(body.media_id, UUID_V4);
    assert.deepEqual(body, {
      media_id: body.media_id,
      mime_type: 'image/jpeg',
      file_name: 'cat.jpg',
      file_size: bytes.length,
    });
    const response = await fetch(`${media.url}${media.base}/media/${body.media_id}`, {
      headers: { 'x-api-key': media.company.apiKey },
    });
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), bytes);
    const found = await media.parts.db.query<{ source: string }>('SELECT source FROM media WHERE id = $1', [
      body.media_id,
    ]);
    assert.equal(found.rows[0]!.source, 'uploads');
  });

  test('gets its type from its content, whatever its name and declared type say', async () => {
    const samples: [Buffer, string, string, string][] = [
      [await png(), 'song.mp3', 'audio/mpeg', 'image/png'],
      [await webp(), 'x.txt', 'text/plain', 'image/webp'],
      [wav(1), 'photo.jpg', 'image/jpeg', 'audio/wav'],
      [await mp4(1), 'doc.pdf', 'application/pdf', 'video/mp4'],
      [pdf(), 'movie.mp4', 'video/mp4', 'application/pdf'],
      [
        Buffer.from('<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>'),
        'a',
        '',
        'image/svg+xml',
      ],
    ];
    for (const [bytes, name, type, expected] of samples) {
      const { status, body } = await media.upload(bytes, { name, type });
      assert.equal(status, 201, name);
      assert.equal(body.mime_type, expected);
    }
  });

  test('may be anything that a document may be: tables, texts, data and unknown types', async () => {
    const taken: [string, string, string][] = [
      ['a,b\n1,2\n', 'text/csv', 'text/csv'],
      ['just text', 'image/png', 'text/plain'],
      ['{"a": 1}', 'application/json', 'application/json'],
      ['<?xml version="1.0"?><a/>', 'application/xml', 'application/xml'],
      ['\x01\x02\x03\x04', 'video/mp4', 'application/octet-stream'],
    ];
    for (const [content, type, expected] of taken) {
      const { status, body } = await media.upload(Buffer.from(content), { name: 'a.bin', type });
      assert.deepEqual([status, body.mime_type], [201, expected], content);
    }
  });

  test('is refused and leaves nothing when it is of another kind', async () => {
    const before = await media.files();
    const refused: [Buffer, string, RegExp][] = [
      [Buffer.from('<!doctype html><script>alert(1)</script>'), 'image/jpeg', /text\/html; allowed/],
      [Buffer.from('#!/bin/sh\n'), 'text/csv', /text\/x-shellscript; allowed/],
      [
        Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 0]),
        'image/jpeg',
        /application\/x-elf; allowed/,
      ],
    ];
    for (const [bytes, type, found] of refused) {
      const { status, body } = await media.upload(bytes, { name: 'a.jpg', type });
      assert.equal(status, 400);
      assert.equal(body.error_code, 'BAD_REQUEST');
      assert.match(body.message, /^unsupported media MIME type /);
      assert.match(body.message, found);
    }
    assert.deepEqual(await media.files(), before);
  });

  test('may have 64 MB and not a byte more', async () => {
    const whole = await media.upload(bigJpeg(MEDIA_MAX_BYTES), { name: 'big.jpg' });
    assert.equal(whole.status, 201);
    assert.equal(whole.body.file_size, MEDIA_MAX_BYTES);
    const before = await media.files();
    const larger = await media.upload(bigJpeg(MEDIA_MAX_BYTES + 1), { name: 'bigger.jpg' });
    assert.equal(larger.status, 400);
    assert.equal(larger.body.message, 'file too large (max 64MB)');
    assert.deepEqual(await media.files(), before);
  });

  test('counts as missing when it is empty or absent', async () => {
    const empty = await media.upload(Buffer.alloc(0), { name: 'a.jpg' });
    assert.equal(empty.body.message, 'file required');
    const form = new FormData();
    form.append('something', 'else');
    const response = await fetch(`${media.url}${media.base}/media`, {
      method: 'POST',
      body: form,
      headers: { 'x-api-key': media.company.apiKey },
    });
    assert.equal(response.status, 400);
    assert.equal(((await response.json()) as { message: string }).message, 'file required');
  });

  test('is refused with the words of MED-10 when its form is broken', async () => {
    for (const [type, raw] of [
      ['multipart/form-data', 'x'],
      [
        'multipart/form-data; boundary=b',
        '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc',
      ],
      ['multipart/form-data; boundary=b', 'no part in it'],
    ] as const) {
      const answer = await media.call('POST', `${media.base}/media`, {
        key: media.company.apiKey,
        raw,
        headers: { 'content-type': type },
      });
      assert.equal(answer.status, 400);
      assert.equal(answer.body.error_code, 'BAD_REQUEST');
      assert.equal(answer.body.message, 'failed to parse multipart form', raw);
    }
    assert.deepEqual(
      (await media.files()).filter((name) => name.startsWith('.spool')),
      [],
    );
  });

  test('keeps a name in any script, without its path', async () => {
    const names: [string, string][] = [
      ['../../etc/passwd', 'passwd'],
      ['C:\\photos\\gato.png', 'gato.png'],
      ['férias à praia 🏖.png', 'férias à praia 🏖.png'],
    ];
    for (const [given, expected] of names) {
      const { body } = await media.upload(await png(), { name: given });
      assert.equal(body.file_name, expected);
    }
    const named = await media.upload(await png(), { name: 'a.png', fields: { file_name: 'mine.png' } });
    assert.equal(named.body.file_name, 'mine.png');
  });
});

describe('an address to fetch', () => {
  test('is fetched, judged by its content and stored', async () => {
    const bytes = await png();
    served.set('/pic', { type: 'text/html', body: bytes });
    const answer = await post({ media_url: `${filesUrl}/pic`, file_name: 'named.png' });
    assert.equal(answer.status, 201);
    assert.equal(answer.body.mime_type, 'image/png');
    assert.equal(answer.body.file_name, 'named.png');
    assert.equal(answer.body.file_size, bytes.length);
  });

  test('that gives something else, nothing or an error is refused', async () => {
    served.set('/page', { type: 'image/png', body: Buffer.from('<html>error</html>') });
    const page = await post({ media_url: `${filesUrl}/page` });
    assert.equal(page.status, 400);
    assert.match(page.body.message, /^unsupported media MIME type text\/html/);
    const missing = await post({ media_url: `${filesUrl}/missing` });
    assert.deepEqual([missing.status, missing.body.error_code], [502, 'MEDIA_FETCH_FAILED']);
    const closed = await post({ media_url: 'not a url' });
    assert.equal(closed.body.error_code, 'MEDIA_FETCH_FAILED');
  });

  test('is required when there is no file', async () => {
    for (const body of [{}, { media_url: '' }]) {
      const answer = await post(body);
      assert.deepEqual([answer.status, answer.body.message], [400, 'media_url or file upload required']);
    }
    const invalid = await media.call('POST', `${media.base}/media`, {
      key: media.company.apiKey,
      raw: '{"media',
    });
    assert.deepEqual(
      [invalid.status, invalid.body.error_code, invalid.body.message],
      [400, 'BAD_REQUEST', 'invalid JSON'],
    );
  });
});

describe('the instance', () => {
  test('is not found when it belongs to somebody else or does not exist, and nothing is fetched for it', async () => {
    const other = await seedCompany(media.parts.db);
    const foreign = await seedInstance(media.parts.db, other.companyId);
    const before = asked;
    for (const id of [foreign, randomUUID(), 'nonsense']) {
      const answer = await media.call('POST', `/v1/instances/${id}/media`, {
        key: media.company.apiKey,
        body: { media_url: `${filesUrl}/pic` },
      });
      assert.deepEqual(
        [answer.status, answer.body.error_code, answer.body.message],
        [404, 'NOT_FOUND', 'instance not found'],
      );
    }
    assert.equal(asked, before);
  });

  test('without media storage answers 503', async () => {
    const without = await startMediaServer({ MEDIA_STORAGE: 'none' });
    try {
      const uploaded = await without.upload(await png());
      assert.equal(uploaded.status, 503);
      assert.equal(uploaded.body.error_code, 'SERVICE_UNAVAILABLE');
      assert.equal(uploaded.body.message, 'media storage not configured');
      const fetched = await without.call('POST', `${without.base}/media`, {
        key: without.company.apiKey,
        body: { media_url: `${filesUrl}/pic` },
      });
      assert.equal(fetched.body.message, 'media storage not configured');
    } finally {
      await without.close();
    }
  });
});
