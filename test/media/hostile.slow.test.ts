import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { MEDIA_MAX_BYTES } from '@posthorn/contract/limits.ts';
import { tellFigure } from '../support/figures.ts';
import { listen } from '../support/listen.ts';
import { waitFor } from '../support/process.ts';
import { bigJpeg, emptyPng, jpeg, png } from './samples.ts';
import { type MediaServer, startMediaServer } from './support.ts';

/** A file server with a different fault for each path. */
const manners: Record<string, (response: import('node:http').ServerResponse) => void> = {
  '/endless': (response) => {
    response.writeHead(200, { 'content-type': 'image/png' });
    const feed = () => {
      while (response.write(Buffer.alloc(1 << 20, 1)));
      response.once('drain', feed);
    };
    feed();
  },
  '/slow': (response) => {
    response.writeHead(200, { 'content-type': 'image/png' });
    const timer = setInterval(() => response.write('x'), 200);
    response.on('close', () => clearInterval(timer));
  },
  '/silent': () => undefined,
  '/too-long': (response) => {
    response.writeHead(200, { 'content-length': String(MEDIA_MAX_BYTES + 1) });
    response.write('x');
  },
  '/short': (response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('\x89PNG\r\n\x1a\n');
    setTimeout(() => response.destroy(), 50);
  },
  '/gzip': (response) => {
    // 200 MB of zeros.
    response.writeHead(200, { 'content-type': 'image/png', 'content-encoding': 'gzip' });
    response.end(gzipSync(Buffer.alloc(200_000_000)));
  },
  '/empty': (response) => response.writeHead(200, { 'content-type': 'image/png' }).end(),
};
let requests = 0;
const files = createServer((request, response) => {
  requests += 1;
  manners[request.url!]?.(response);
});

let media: MediaServer;
let filesUrl: string;
before(async () => {
  const host = `127.0.0.1:${await listen(files)}`;
  filesUrl = `http://${host}`;
  media = await startMediaServer({ MEDIA_PRIVATE_HOSTS: host, HTTP_TIMEOUT: '2' });
});
after(async () => {
  await media.close();
  files.close();
  files.closeAllConnections();
});

const spooled = async () => (await media.files()).filter((name) => name.startsWith('.spool'));

/** Waits for some time: files of a dying request are removed when it has died. */
async function spoolIsEmpty(): Promise<void> {
  await waitFor(async () => (await spooled()).length === 0).catch(async () =>
    assert.deepEqual(await spooled(), []),
  );
}

let chats = 0;
const newChat = () => `55119${String(++chats).padStart(8, '0')}`;

function sendImage(body: object) {
  return media.call('POST', `${media.base}/messages/image`, {
    key: media.company.apiKey,
    body: { to: newChat(), ...body },
    headers: { 'idempotency-key': randomUUID() },
  });
}

function sendFile(bytes: Buffer) {
  return media.upload(bytes, {
    path: `${media.base}/messages/image`,
    fields: { to: newChat() },
    idempotencyKey: randomUUID(),
  });
}

describe('a server with bad manners', () => {
  for (const path of Object.keys(manners)) {
    test(`delays nobody longer than one fetch: ${path}`, async () => {
      const [before, requestsBefore] = [performance.now(), requests];
      const answer = await sendImage({ media_url: filesUrl + path });
      assert.deepEqual([answer.status, answer.body.error_code], [502, 'MEDIA_FETCH_FAILED'], answer.text);
      tellFigure(`a send of what comes from ${path}`, performance.now() - before, { atMost: 4_000 });
      assert.equal(requests - requestsBefore, 1, 'fetched once');
      await spoolIsEmpty();
    });
  }
});

describe('media of a hostile sender', () => {
  test('is refused in every form when it has 0 bytes', async () => {
    const form = await sendFile(Buffer.alloc(0));
    assert.deepEqual([form.status, form.body.message], [400, 'the media is empty']);
    const empty = await sendImage({ media_base64: '' });
    assert.deepEqual([empty.status, empty.body.error_code], [400, 'MISSING_FIELD']);
    const dataUri = await sendImage({ media_base64: 'data:image/png;base64,' });
    assert.equal(dataUri.status, 400);
    await spoolIsEmpty();
  });

  test('passes in every form with 64 MB, and not with one byte more', async () => {
    for (const [sizeBytes, expected] of [
      [MEDIA_MAX_BYTES, 202],
      [MEDIA_MAX_BYTES + 1, 413],
    ] as const) {
      const bytes = bigJpeg(sizeBytes);
      const form = await sendFile(bytes);
      assert.equal(form.status, expected, `a form of ${sizeBytes}: ${JSON.stringify(form.body)}`);
      const base64 = await sendImage({ media_base64: bytes.toString('base64') });
      assert.equal(base64.status, expected, `base64 of ${sizeBytes}: ${base64.text}`);
      if (expected === 413) {
        assert.equal(form.body.error_code, 'MEDIA_TOO_LARGE');
        assert.equal(base64.body.error_code, 'MEDIA_TOO_LARGE');
      }
    }
    await spoolIsEmpty();
  });

  test('is treated by its content, whatever type it declares', async () => {
    const script = Buffer.from('<html><script>alert(1)</script></html>');
    for (const disguised of [
      script,
      Buffer.from('#!/bin/sh\nrm -rf /\n'),
      Buffer.from('MZ\x90\x00programme'),
    ]) {
      const answer = await sendImage({
        media_base64: `data:image/png;base64,${disguised.toString('base64')}`,
      });
      assert.deepEqual([answer.status, answer.body.error_code], [415, 'UNSUPPORTED_MEDIA_TYPE']);
    }
  });

  test('that is of two types at once is served as the first one, and nothing runs it', async () => {
    const polyglots = [
      Buffer.concat([await png(), Buffer.from('<script>alert(1)</script>')]),
      Buffer.concat([await jpeg(), Buffer.from('PK\x05\x06'), Buffer.alloc(18)]),
      Buffer.from('GIF89a/*\x01\x00\x01\x00*/=1;alert(1)//<svg onload=alert(1)>'),
    ];
    for (const bytes of polyglots) {
      const { status, body } = await media.upload(bytes, { name: 'x.html', type: 'text/html' });
      assert.equal(status, 201);
      assert.match(body.mime_type, /^image\/(png|jpeg|gif)$/);
      const response = await fetch(`${media.url}${media.base}/media/${body.media_id}`, {
        headers: { 'x-api-key': media.company.apiKey },
      });
      assert.equal(response.headers.get('content-type'), body.mime_type);
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
      assert.match(response.headers.get('content-security-policy')!, /default-src 'none'.*sandbox/);
      await response.arrayBuffer();
    }
  });

  test('that would unpack to gigabytes is stored in its small size and nothing more', async () => {
    const bomb = emptyPng(60_000, 60_000);
    const before = process.memoryUsage().rss;
    assert.equal((await media.upload(bomb)).status, 201);
    assert.ok(process.memoryUsage().rss - before < 100_000_000);
  });

  test('in broken base64 is refused', async () => {
    for (const text of [
      'not base64!',
      'data:image/png;base64,@@@',
      'data:image/png,plain',
      'data:image/png;base64',
      'QUJD=QUJD',
      'A',
      'QQ===',
      'QUJD\u0000',
      'ÄÖÜ=',
    ]) {
      const answer = await sendImage({ media_base64: text });
      assert.equal(answer.status, 400, text);
    }
    await spoolIsEmpty();
  });

  test('that stops half way leaves nothing behind', async () => {
    const { port } = new URL(media.url);
    const heads = [
      [
        'multipart/form-data; boundary=b',
        '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n\xff\xd8\xff',
      ],
      ['application/json', '{"to":"5511999990000","media_base64":"/9j/4AAQSkZJRg'],
    ] as const;
    for (const [type, start] of heads) {
      const socket = connect(Number(port), '127.0.0.1');
      socket.write(
        `POST ${media.base}/messages/image HTTP/1.1\r\nHost: x\r\nX-API-Key: ${media.company.apiKey}\r\n` +
          `Idempotency-Key: ${randomUUID()}\r\nContent-Type: ${type}\r\nContent-Length: 100000\r\n\r\n`,
      );
      socket.write(Buffer.from(start, 'latin1'));
      await waitFor(async () => (await spooled()).length > 0);
      assert.equal((await spooled()).length, 1, 'it is being received');
      socket.destroy();
      await spoolIsEmpty();
    }
    // It is given back a moment after the file is removed.
    await waitFor(() => media.media.budget.used() === 0);
  });

  test('in malformed forms of every kind is refused and leaves nothing', async () => {
    const part = (name: string, body: string, more = '') =>
      `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${body}\r\n`;
    const file = part('file', '\x89PNG', '; filename="a.png"');
    const bodies = {
      'two files': `${file}${file}--b--\r\n`,
      'no end': file,
      'a huge field': `${part('to', 'x'.repeat(300_000))}--b--\r\n`,
      'too many fields': `${part('x', 'y').repeat(2_050)}--b--\r\n`,
      'a NUL': `${part('to', 'a\0b')}${file}--b--\r\n`,
      'no headers': '--b\r\n\r\nxyz\r\n--b--\r\n',
    };
    for (const [what, raw] of Object.entries(bodies)) {
      const answer = await media.call('POST', `${media.base}/messages/image`, {
        key: media.company.apiKey,
        raw,
        headers: { 'content-type': 'multipart/form-data; boundary=b', 'idempotency-key': randomUUID() },
      });
      assert.equal(answer.status, 400, `${what}: ${answer.text}`);
      await spoolIsEmpty();
    }
  });

  test('has queued nothing that was not whole, and holds no memory', async () => {
    const queued = await media.parts.db.query('SELECT 1 FROM outbox');
    assert.equal(queued.rowCount, 2);
    await waitFor(() => media.media.budget.used() === 0);
    // Every file in the storage has a row that names it.
    const rows = await media.parts.db.query<{ storage_key: string }>('SELECT storage_key FROM media');
    assert.deepEqual((await media.files()).sort(), rows.rows.map((row) => row.storage_key).sort());
    const trash = await media.parts.db.query('SELECT 1 FROM media_trash');
    assert.equal(trash.rowCount, 0);
  });
});

describe('too much at once', () => {
  test('answers 503 with Retry-After, and the repeated requests pass', async () => {
    const small = await startMediaServer({ MEDIA_MEMORY_MB: '3' });
    try {
      const bytes = bigJpeg(20_000_000);
      const waiting = new Set(Array.from({ length: 12 }, (_, nth) => nth));
      let refusals = 0;
      for (let round = 0; waiting.size > 0; round += 1) {
        assert.ok(round < 30, 'all get through in the end');
        const answers = await Promise.all(
          [...waiting].map(async (nth) => ({ nth, ...(await small.upload(bytes)) })),
        );
        for (const { nth, status, headers, body } of answers) {
          if (status === 201) waiting.delete(nth);
          else {
            assert.equal(status, 503);
            assert.equal(body.error_code, 'SERVICE_UNAVAILABLE');
            assert.ok(Number(headers.get('retry-after')) > 0);
            refusals += 1;
          }
        }
      }
      assert.ok(refusals > 0, 'some were told to come again');
    } finally {
      await small.close();
    }
  });
});
