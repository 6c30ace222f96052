import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Spool } from '@posthorn/core/media/spool.ts';
import { readMultipart } from '@posthorn/server/messaging/media/multipart.ts';

const END = '\r\n--b--\r\n';
const FILE = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n';

/** A part with these headers behind its content disposition. */
function part(disposition: string, content: string | Buffer, more = ''): Buffer {
  return Buffer.concat([
    Buffer.from(`--b\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n`, 'latin1'),
    Buffer.from(content),
  ]);
}

function requestOf(chunks: Buffer[]): IncomingMessage {
  const headers = { 'content-type': 'multipart/form-data; boundary=b' };
  return Object.assign(Readable.from(chunks), { headers }) as unknown as IncomingMessage;
}

/** Begins to read late, so that the form has to wait for the file. */
const late: Spool = {
  async write(source) {
    for (let turns = 0; turns < 20; turns += 1) await turn();
    let sizeBytes = 0;
    for await (const chunk of source) sizeBytes += chunk.byteLength;
    return { path: '', sizeBytes, sha256: '', discard: async () => undefined };
  },
  sweep: async () => 0,
};

const read = (...chunks: Buffer[]) => readMultipart({ spool: late }, requestOf(chunks));

describe('a multipart form', () => {
  const oddFields = {
    'a field in an encoding that nobody knows': part(
      'name="caption"',
      'hi',
      'Content-Type: text/plain; charset=foo\r\n',
    ),
    'a field that is not UTF-8': part('name="caption"', Buffer.from('S\xe3o', 'latin1')),
    'a field with an empty name': part('name=""', 'hi'),
  };
  for (const [what, field] of Object.entries(oddFields)) {
    test(`with ${what} is refused`, async () => {
      await assert.rejects(read(Buffer.concat([field, Buffer.from(END)])), { code: 'BAD_REQUEST' });
    });

    test(`with ${what} behind a file that is read slowly is refused, and ends no process`, async () => {
      const half = Buffer.alloc(40_000, 'a');
      const body = Buffer.concat([Buffer.from('\r\n'), field, Buffer.from(END)]);
      // Cut behind the boundary: the file has ended, and the field comes by itself.
      const chunks = [
        Buffer.from(FILE),
        half,
        Buffer.concat([half, body.subarray(0, 12)]),
        body.subarray(12),
      ];
      await assert.rejects(read(...chunks), { code: 'BAD_REQUEST' });
    });
  }

  test('with a refused field before its file is refused at once', async () => {
    const refused = part('name="caption"', 'a\0b\r\n');
    await assert.rejects(
      read(Buffer.concat([refused, Buffer.from(`${FILE}conte`)]), Buffer.from(`nt${END}`)),
      {
        code: 'BAD_REQUEST',
        publicMessage: 'caption: has characters that cannot be stored',
      },
    );
  });

  test('may say the encoding of its texts', async () => {
    const fields = [
      'Content-Type: text/plain; charset=UTF-8',
      'Content-Type: text/plain; charset=iso-8859-1',
    ].map((type, nth) =>
      part(`name="caption"`, Buffer.from('São\r\n', nth === 0 ? 'utf8' : 'latin1'), `${type}\r\n`),
    );
    const { fields: found } = await read(Buffer.concat([...fields, Buffer.from('--b--\r\n')]));
    assert.deepEqual(found, [
      ['caption', 'São'],
      ['caption', 'São'],
    ]);
  });
});
