import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type CallOptions, createClient, type FileSource, type UploadProgress } from '@posthorn/sdk/index.ts';
import { type HttpServer, json, startHttp } from './http-server.ts';

const INSTANCE = '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01';

describe('a file', () => {
  let folder: string;
  let server: HttpServer;
  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'posthorn-files-'));
    writeFileSync(path.join(folder, 'note.txt'), 'the bytes');
    server = await startHttp((res, _, index) =>
      index === failAt ? void res.socket?.resetAndDestroy() : json(res, 202, {}),
    );
  });
  after(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  let failAt = -1;
  const at = () => path.join(folder, 'note.txt');

  function send(file: unknown, options: CallOptions = {}) {
    const client = createClient({ baseUrl: server.url, apiKey: 'svc_test' });
    return client.messages.sendDocument(
      { instanceId: INSTANCE, body: { to: '+5511999990000', caption: 'c', file: file as FileSource } },
      options,
    );
  }

  const bytes = new TextEncoder().encode('the bytes');
  const sources: [string, () => unknown, string][] = [
    ['a Buffer', () => Buffer.from(bytes), 'file'],
    ['a Uint8Array', () => bytes, 'file'],
    ['an ArrayBuffer', () => bytes.buffer, 'file'],
    ['a Blob', () => new Blob([bytes], { type: 'text/plain' }), 'file'],
    ['a File', () => new File([bytes], 'mine.txt'), 'mine.txt'],
    ['a path', at, 'note.txt'],
    ['a stream of Node', () => createReadStream(at(), { highWaterMark: 2 }), 'note.txt'],
    ['a web stream', () => new Blob([bytes]).stream(), 'file'],
  ];
  for (const [what, source, name] of sources) {
    test(`may be ${what}, and is sent again whole after a fault`, async () => {
      const first = server.seen.length;
      failAt = first;
      await send(source());
      for (const { body, headers } of server.seen.slice(first)) {
        assert.match(String(headers['content-type']), /^multipart\/form-data; boundary=/);
        assert.equal(Number(headers['content-length']), Buffer.byteLength(body));
        assert.match(body, new RegExp(`name="file"; filename="${name}"\\r\\n.*\\r\\n\\r\\nthe bytes\\r\\n`));
        assert.match(body, /name="caption"\r\n\r\nc\r\n/);
      }
      assert.equal(server.seen.length, first + 2);
    });
  }

  for (const wrong of [5, true, null, '', {}, [], new Date(), ['a']]) {
    test(`may not be ${JSON.stringify(wrong)}`, async () => {
      const before = server.seen.length;
      await assert.rejects(send(wrong), TypeError);
      assert.equal(server.seen.length, before);
    });
  }

  test('that is a path to nothing, or to a folder, is an error that says so', async () => {
    await assert.rejects(send(path.join(folder, 'missing')), { code: 'ENOENT' });
    await assert.rejects(send(folder), { code: 'EISDIR' });
  });

  test('that is a path to a pipe has everything that comes out of the pipe', async () => {
    const pipe = path.join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    await Promise.all([writeFile(pipe, 'out of a pipe'), send(pipe)]);
    assert.match(String(server.seen.at(-1)?.body), /out of a pipe/);
  });

  test('that is a stream of something else, or without an end, is refused', async () => {
    await assert.rejects(send(ReadableStream.from(['text'])), TypeError);
    const piece = new Uint8Array(1024 * 1024);
    const endless = (async function* () {
      for (;;) yield piece;
    })();
    await assert.rejects(send(endless), /64 MB/);
  });

  /** Streams that give one piece, and then nothing more until somebody closes them. */
  const stalled: [string, (closed: () => void) => unknown][] = [
    [
      'a stream of Node',
      (closed) => {
        const pieces = [bytes];
        return new Readable({
          read() {
            const piece = pieces.pop();
            if (piece) this.push(piece);
          },
          destroy: (_, done) => {
            closed();
            done(null);
          },
        });
      },
    ],
    [
      'a web stream',
      (closed) => new ReadableStream({ start: (stream) => stream.enqueue(bytes), cancel: closed }),
    ],
    [
      'any other stream',
      (closed) => ({
        [Symbol.asyncIterator]: () => {
          const pieces = [bytes];
          return {
            next: () => {
              const value = pieces.pop();
              return value ? Promise.resolve({ done: false, value }) : new Promise(() => undefined);
            },
            return: async () => {
              closed();
              return { done: true, value: undefined };
            },
          };
        },
      }),
    ],
  ];
  for (const [what, stream] of stalled) {
    test(`that is ${what} which stalls is closed, and not sent, when the caller aborts`, {
      timeout: 30_000,
    }, async () => {
      const from = server.seen.length;
      const leaving = new AbortController();
      const reason = new Error('enough');
      let closed = 0;
      setTimeout(() => leaving.abort(reason), 50);
      const source = stream(() => {
        closed += 1;
      });
      await assert.rejects(send(source, { signal: leaving.signal }), reason);
      await setImmediate();
      assert.deepEqual([closed, server.seen.length], [1, from]);
    });
  }

  test('that is a stream which breaks half-way is not sent', async () => {
    const from = server.seen.length;
    const fault = new Error('the disk broke');
    const broken = (async function* () {
      yield bytes;
      throw fault;
    })();
    await assert.rejects(send(broken), fault);
    assert.equal(server.seen.length, from);
  });

  test('reports the progress of its upload, up to the end', async () => {
    const seen: UploadProgress[] = [];
    await send(Buffer.alloc(3_000_000, 'x'), { onUploadProgress: (progress) => seen.push(progress) });
    const total = seen[0]?.totalBytes ?? 0;
    assert.ok(total > 3_000_000 && total < 3_001_000);
    assert.ok(seen.length > 2, `${seen.length} reports`);
    assert.ok(seen.every(({ sentBytes }, index) => sentBytes > (seen[index - 1]?.sentBytes ?? 0)));
    assert.deepEqual(seen.at(-1), { sentBytes: total, totalBytes: total });
    assert.equal(server.seen.at(-1)?.headers['content-length'], String(total));
  });

  test('cannot leave its line of the form by its name', async () => {
    await send(new File([bytes], 'a"\r\nx-evil: 1.txt'));
    assert.match(server.seen.at(-1)?.body ?? '', /filename="a%22%0D%0Ax-evil: 1.txt"/);
  });
});
