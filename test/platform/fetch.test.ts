import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { listen } from '../support/listen.ts';

const SLOW_READER = fileURLToPath(new URL('./slow-reader-main.ts', import.meta.url));

/** In a process of its own: Node's own client ended the process with an exception that nobody could catch. */
test('a server that resets an answer while nobody reads it ends no process', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', async () => {
      socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n');
      socket.write(Buffer.alloc(1_000_000));
      await delay(200);
      socket.resetAndDestroy();
    });
  });
  t.after(() => server.close());
  const port = await listen(server);
  const reader = spawn(process.execPath, [SLOW_READER, `http://127.0.0.1:${port}/`]);
  const [said, failed, [code]] = await Promise.all([
    text(reader.stdout),
    text(reader.stderr),
    once(reader, 'close'),
  ]);
  assert.equal(failed, '');
  // Both are correct for an answer without a length: its end, or an error at the reader.
  assert.match(said, /^read \d+ bytes|^reading failed/);
  assert.equal(code, 0);
});
