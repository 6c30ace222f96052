/** The parts of the WhatsApp driver that make decisions: tables, without a network. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { describe, test } from 'node:test';
import { type EndingRead, readEnding } from '@posthorn/network/whatsapp/disconnects.ts';
import type { RawSocket } from '@posthorn/network/whatsapp/frame-gate.ts';
import { createFrameGate } from '@posthorn/network/whatsapp/frame-gate.ts';
import { pack, unpack } from '@posthorn/network/whatsapp/keys.ts';
import { timingCheaply } from '@posthorn/network/whatsapp/library-socket.ts';
import { createDecryptor, createEncryptor, MediaTampered } from '@posthorn/network/whatsapp/media/crypt.ts';
import { createPump } from '@posthorn/network/whatsapp/pump.ts';

test('each way in which a connection ends has its reason', () => {
  const lost = (error?: string): EndingRead => ({
    to: 'end',
    reason: 'connection_lost',
    ...(error ? { error } : {}),
  });
  const table: [message: string, statusCode: number | undefined, cause: string | undefined, EndingRead][] = [
    ['Stream Errored (restart required)', 515, undefined, { to: 'relogin' }],
    ['Stream Errored (conflict)', 440, undefined, { to: 'end', reason: 'replaced' }],
    ['Connection Failure', 401, undefined, { to: 'end', reason: 'logged_out' }],
    ['Connection Failure', 402, undefined, { to: 'end', reason: 'hard_paused' }],
    ['Connection Failure', 403, undefined, { to: 'end', reason: 'logged_out' }],
    ['Connection Failure', 405, undefined, { to: 'end', reason: 'version_refused' }],
    ['Connection Failure', 406, undefined, { to: 'end', reason: 'banned' }],
    ['Connection Failure', 503, undefined, lost('the connection to the WhatsApp network was lost')],
    ['QR refs attempts ended', 408, undefined, lost()],
    // Status codes of proxies and web servers are not those of the network.
    [
      'WebSocket Error (Unexpected server response: 403)',
      403,
      undefined,
      lost('the WhatsApp network cannot be reached (HTTP 403); it is tried again'),
    ],
    [
      'WebSocket Error (getaddrinfo ENOTFOUND web.whatsapp.com)',
      408,
      'ENOTFOUND getaddrinfo ENOTFOUND web.whatsapp.com',
      lost('the WhatsApp network cannot be reached (ENOTFOUND); it is tried again'),
    ],
    [
      'WebSocket Error (connect via user:secret@proxy failed)',
      500,
      'connect via user:secret@proxy failed',
      lost('the WhatsApp network cannot be reached; it is tried again'),
    ],
  ];
  for (const [message, statusCode, cause, expected] of table)
    assert.deepEqual(readEnding({ message, statusCode, cause }), expected, message);
  assert.deepEqual(readEnding(undefined), lost());
});

test('keys come back as they were: bytes within objects within lists', () => {
  const value = {
    a: new Uint8Array([1, 2]),
    b: [{ c: Buffer.from('x') }, null, 'y', 3],
    d: undefined,
    e: true,
  };
  const back = unpack(JSON.parse(JSON.stringify(pack(value)))) as Record<string, unknown>;
  assert.deepEqual(back, { a: Buffer.of(1, 2), b: [{ c: Buffer.from('x') }, null, 'y', 3], e: true });
});

describe('the gate before the socket', () => {
  function gated() {
    const sent: string[] = [];
    const failures: unknown[] = [];
    const gate = createFrameGate((err) => failures.push(err));
    const socket: Pick<RawSocket, 'send'> = { send: (data) => void sent.push(String(data)) };
    gate.guard(socket);
    return { sent, failures, gate, socket };
  }

  test('lets frames pass when nothing is being stored', () => {
    const { sent, socket } = gated();
    socket.send('a');
    assert.deepEqual(sent, ['a']);
  });

  test('holds a frame until earlier writes are stored, and keeps the order', async () => {
    const { sent, gate, socket } = gated();
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    gate.hold(first.promise);
    socket.send('a');
    gate.hold(second.promise);
    socket.send('b');
    second.resolve();
    await new Promise(setImmediate);
    assert.deepEqual(sent, [], 'b waits for a, and a for the first');
    first.resolve();
    await new Promise(setImmediate);
    assert.deepEqual(sent, ['a', 'b']);
    socket.send('c');
    assert.deepEqual(sent, ['a', 'b', 'c']);
  });

  test('holds back frames, but does not block their writers', async () => {
    const { sent, gate, socket } = gated();
    const stored = Promise.withResolvers<void>();
    gate.hold(stored.promise);
    let isWritten = false;
    socket.send('a', () => {
      isWritten = true;
    });
    assert.deepEqual([isWritten, sent], [true, []]);
    stored.resolve();
    await new Promise(setImmediate);
    assert.deepEqual(sent, ['a']);
  });

  test('lets nothing pass after something could not be stored', async () => {
    const { sent, failures, gate, socket } = gated();
    gate.hold(Promise.reject(new Error('lease lost')));
    socket.send('a');
    await new Promise(setImmediate);
    socket.send('b');
    assert.deepEqual(sent, []);
    assert.equal(failures.length, 1);
  });
});

test('messages are handed over in order, and repeated until they are recorded', async () => {
  const seen: string[] = [];
  let failing = 2;
  const pump = createPump(() => undefined);
  const first = pump.run(async () => {
    seen.push('first');
    if (failing-- > 0) throw new Error('not recorded');
  });
  const second = pump.run(async () => void seen.push('second'));
  await Promise.all([first, second]);
  assert.deepEqual(seen, ['first', 'first', 'first', 'second']);
  await pump.stop();
  await assert.rejects(pump.run(async () => undefined));
});

test('messages that arrive meanwhile are handed over in one batch, in order with everything else', async () => {
  const seen: (string | readonly string[])[] = [];
  let failing = 1;
  const pump = createPump(() => undefined);
  const take = pump.inBatches<string>(async (items) => {
    seen.push([...items]);
    if (items.includes('c') && failing-- > 0) throw new Error('not recorded');
  }, 3);
  const done = [take('a'), take('b')];
  await Promise.all(done);
  done.push(...['c', 'd', 'e', 'f'].map(take));
  done.push(pump.run(async () => void seen.push('job')));
  done.push(take('g'), take('h'));
  await Promise.all(done);
  assert.deepEqual(seen, [['a', 'b'], ['c', 'd', 'e'], ['c', 'd', 'e'], ['f'], 'job', ['g', 'h']]);
  await pump.stop();
  await assert.rejects(take('i'));
});

describe('a wait of the library with a timeout', () => {
  const late = new Error('Timed Out');
  const wait = timingCheaply(async () => {
    throw late;
  });

  test('ends or fails as it would without one', async () => {
    assert.equal(await wait(1_000, (resolve) => resolve('come')), 'come');
    assert.equal(await wait(undefined, (resolve) => setTimeout(resolve, 1, 'come')), 'come');
    await assert.rejects(
      wait(1_000, (_, reject) => reject(new Error('cut'))),
      /cut/,
    );
  });

  test('fails with the error of the library when its time is up, and stays failed', async () => {
    let resolve: (value: unknown) => void = () => undefined;
    const waiting = wait(5, (come) => {
      resolve = come;
    });
    await assert.rejects(waiting, late);
    resolve('late');
    await assert.rejects(waiting, late);
  });
});

describe('media', () => {
  const key = randomBytes(32);

  async function encrypt(plain: Buffer, chunk = 7) {
    const encryptor = createEncryptor(key, 'image');
    const parts = Array.from({ length: Math.ceil(plain.length / chunk) }, (_, i) =>
      plain.subarray(i * chunk, (i + 1) * chunk),
    );
    const [bytes] = await Promise.all([
      buffer(encryptor),
      pipeline(Readable.from(parts), encryptor, { end: true }),
    ]);
    return { bytes, hashes: encryptor.hashes() };
  }

  function decrypt(bytes: Buffer, sha256: string, chunk = 5) {
    const parts = Array.from({ length: Math.ceil(bytes.length / chunk) }, (_, i) =>
      bytes.subarray(i * chunk, (i + 1) * chunk),
    );
    return buffer(Readable.from(parts).pipe(createDecryptor(key, 'image', sha256)));
  }

  test('is decrypted to the same bytes at any length, and the same key gives the same ciphertext', async () => {
    for (const length of [0, 1, 15, 16, 17, 1000]) {
      const plain = randomBytes(length);
      const { bytes, hashes } = await encrypt(plain);
      assert.deepEqual((await encrypt(plain, 64)).bytes, bytes);
      assert.equal(hashes.fileLength, length);
      assert.deepEqual(hashes.fileEncSha256, createHash('sha256').update(bytes).digest());
      assert.deepEqual(await decrypt(bytes, hashes.fileSha256.toString('hex')), plain);
    }
  });

  test('that was altered or cut is refused', async () => {
    const { bytes, hashes } = await encrypt(randomBytes(100));
    const sha256 = hashes.fileSha256.toString('hex');
    const altered = Buffer.from(bytes);
    altered[3]! ^= 1;
    await assert.rejects(decrypt(altered, sha256), MediaTampered);
    await assert.rejects(decrypt(bytes.subarray(0, -1), sha256), MediaTampered);
    await assert.rejects(decrypt(bytes.subarray(0, 4), sha256), MediaTampered);
    await assert.rejects(decrypt(bytes, '00'.repeat(32)), MediaTampered);
    // The caller that stores it gives it up at once.
    await assert.rejects(decrypt(altered, sha256), { reason: 'media_invalid' });
  });
});
