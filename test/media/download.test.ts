import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { seedCompany, seedInstance } from '../support/seed.ts';
import { jpeg, pdf } from './samples.ts';
import { type MediaServer, startMediaServer } from './support.ts';

let media: MediaServer;
let bytes: Buffer;
let id: string;
before(async () => {
  media = await startMediaServer({ PUBLIC_URL: 'https://api.example.test/' });
  bytes = await jpeg({ width: 300, height: 200, noise: true });
  id = (await media.upload(bytes, { name: 'gato é.jpg' })).body.media_id;
});
after(() => media.close());

function get(headers: Record<string, string> = {}, method = 'GET', mediaId = id) {
  return fetch(`${media.url}${media.base}/media/${mediaId}`, {
    method,
    headers: { 'x-api-key': media.company.apiKey, ...headers },
  });
}

const bodyOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

describe('a download', () => {
  test('has the exact headers and bytes', async () => {
    const response = await get();
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'image/jpeg');
    assert.equal(response.headers.get('content-length'), String(bytes.length));
    assert.equal(
      response.headers.get('content-disposition'),
      `inline; filename="gato _.jpg"; filename*=UTF-8''gato%20%C3%A9.jpg`,
    );
    assert.equal(response.headers.get('accept-ranges'), 'bytes');
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    assert.match(response.headers.get('content-security-policy')!, /sandbox/);
    assert.ok(response.headers.get('x-trace-id'));
    assert.ok(response.headers.get('x-ratelimit-limit'));
    assert.deepEqual(await bodyOf(response), bytes);
  });

  test('gives any one range of bytes', async () => {
    const last = bytes.length - 1;
    const ranges: [string, number, number][] = [
      ['bytes=0-0', 0, 0],
      ['bytes=0-99', 0, 99],
      [`bytes=100-${last + 5000}`, 100, last],
      ['bytes=5-', 5, last],
      ['bytes=-7', last - 6, last],
      [`bytes=-${bytes.length * 2}`, 0, last],
      [`bytes=${last}-${last}`, last, last],
    ];
    for (const [range, start, end] of ranges) {
      const response = await get({ range });
      assert.equal(response.status, 206, range);
      assert.equal(response.headers.get('content-range'), `bytes ${start}-${end}/${bytes.length}`);
      assert.equal(response.headers.get('content-length'), String(end - start + 1));
      assert.deepEqual(await bodyOf(response), bytes.subarray(start, end + 1), range);
    }
  });

  test('answers 416 beyond the end, and the whole file when the header is no single range', async () => {
    for (const range of [`bytes=${bytes.length}-`, 'bytes=-0']) {
      const response = await get({ range });
      assert.equal(response.status, 416, range);
      assert.equal(response.headers.get('content-range'), `bytes */${bytes.length}`);
      assert.equal((await bodyOf(response)).length, 0);
    }
    for (const range of ['bytes=0-1,5-6', 'lines=1-2', 'bytes=9-3', 'bytes=-', 'nonsense']) {
      const response = await get({ range });
      assert.equal(response.status, 200, range);
      assert.deepEqual(await bodyOf(response), bytes);
    }
  });

  test('is not repeated for a client that has the file, and no range of another file is mixed in', async () => {
    const tag = (await get({}, 'HEAD')).headers.get('etag')!;
    const again = await get({ 'if-none-match': tag });
    assert.equal(again.status, 304);
    assert.equal((await bodyOf(again)).length, 0);
    assert.equal((await get({ 'if-none-match': '"other"' })).status, 200);
    assert.equal((await get({ range: 'bytes=0-3', 'if-range': tag })).status, 206);
    assert.equal((await get({ range: 'bytes=0-3', 'if-range': '"other"' })).status, 200);
  });

  test('with HEAD has the headers of GET and no body', async () => {
    const response = await get({}, 'HEAD');
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-length'), String(bytes.length));
    assert.equal((await bodyOf(response)).length, 0);
  });

  test('answers 404 for unknown, foreign, expired or lost media', async () => {
    const other = await seedCompany(media.parts.db);
    const instance = await seedInstance(media.parts.db, other.companyId);
    const theirs = await media.upload(pdf(), { path: `/v1/instances/${instance}/media`, key: other.apiKey });
    const lost = await media.upload(pdf(), { name: 'lost.pdf' });
    const row = await media.parts.db.query<{ storage_key: string }>(
      'SELECT storage_key FROM media WHERE id = $1',
      [lost.body.media_id],
    );
    await rm(path.join(media.config.DATA_DIR, 'media', row.rows[0]!.storage_key));
    const bodies = [];
    for (const mediaId of [randomUUID(), theirs.body.media_id, lost.body.media_id, 'nonsense']) {
      const response = await get({}, 'GET', mediaId);
      assert.equal(response.status, 404);
      const { trace_id, ...body } = (await response.json()) as Record<string, string>;
      assert.ok(trace_id);
      bodies.push(body);
    }
    for (const body of bodies) {
      assert.deepEqual(body, {
        error_code: 'NOT_FOUND',
        message: 'media not found',
        error: 'media not found',
      });
    }
  });

  test('that its client aborts frees the file that it held open', async () => {
    const big = (await media.upload(Buffer.concat([bytes, Buffer.alloc(20_000_000, 1)]))).body.media_id;
    for (let i = 0; i < 20; i += 1) {
      const leaving = new AbortController();
      const response = await fetch(`${media.url}${media.base}/media/${big}`, {
        headers: { 'x-api-key': media.company.apiKey },
        signal: leaving.signal,
      });
      await response.body!.getReader().read();
      leaving.abort();
    }
    const root = path.join(media.config.DATA_DIR, 'media');
    const deadline = Date.now() + 30_000;
    for (;;) {
      const open = await openFilesBelow(root);
      if (open === 0) break;
      assert.ok(Date.now() < deadline, `${open} files are still open`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
});

async function openFilesBelow(root: string): Promise<number> {
  const { readdir, readlink } = await import('node:fs/promises');
  const links = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return links.filter((target) => target.startsWith(root)).length;
}

describe('the info of media', () => {
  test('names both addresses, and expires_at only for media that expires', async () => {
    const answer = await media.call('GET', `${media.base}/media/${id}/info`, { key: media.company.apiKey });
    assert.equal(answer.status, 200);
    const url = `https://api.example.test${media.base}/media/${id}`;
    const { created_at, expires_at, ...rest } = answer.body;
    assert.deepEqual(rest, {
      id,
      mime_type: 'image/jpeg',
      file_name: 'gato é.jpg',
      file_size: bytes.length,
      download_url: url,
      info_url: `${url}/info`,
    });
    assert.equal(Date.parse(expires_at) - Date.parse(created_at), 7 * 86_400_000);
    const kept = await media.media.sources.fromBase64(
      { companyId: media.company.companyId, instanceId: media.instanceId },
      (await jpeg()).toString('base64'),
      'image',
    );
    const forGood = await media.call('GET', `${media.base}/media/${kept.mediaId}/info`, {
      key: media.company.apiKey,
    });
    assert.equal('expires_at' in forGood.body, false);
  });

  test('answers 404 for unknown media', async () => {
    const answer = await media.call('GET', `${media.base}/media/${randomUUID()}/info`, {
      key: media.company.apiKey,
    });
    assert.deepEqual([answer.status, answer.body.error_code], [404, 'NOT_FOUND']);
  });
});
