import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { EventEmitter, fetch } from '@posthorn/network/whatsapp/library-surroundings.ts';
import { runAs } from '@posthorn/network/whatsapp/unheard.ts';
import { listen } from '../support/listen.ts';

const MAIN = fileURLToPath(new URL('../support/whatsapp/unheard-main.ts', import.meta.url));
const WAYS = [
  ...['promise', 'timer', 'asyncTimer', 'tick', 'afterWaiting'],
  ...['listener', 'asyncListener', 'libraryTimer'],
];

const run = (...args: string[]) => spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8' });

describe('an error that nobody catches', () => {
  it('is reported to the session in whose name it began, and the process lives', () => {
    const { status, stdout } = run('session');
    const heard = stdout.trim().split('\n');
    assert.equal(status, 0);
    assert.deepEqual(heard.sort(), [...WAYS.map((way) => `one, ${way}: ${way}`), 'lives'].sort());
  });

  for (const way of WAYS) {
    it(`ends the process as ever when it is no session's: ${way}`, () => {
      const { status, stdout, stderr } = run('nobody', way);
      assert.deepEqual({ status, stdout }, { status: 1, stdout: '' });
      assert.match(stderr, new RegExp(`Error: ${way}`));
    });
  }
});

describe('the replacements of Node.js that the library gets:', () => {
  it('a failing listener keeps no other one from its event, and each failure names the event', async () => {
    const heard: unknown[] = [];
    const told: string[] = [];
    const onUnheard = (err: unknown, event: string | symbol | null) =>
      heard.push(`${String(event)}: ${(err as Error).message}`);
    runAs(onUnheard, () => {
      const emitter = new EventEmitter();
      emitter.once('event', () => {
        throw new Error('thrown');
      });
      emitter.on('event', async (what: string) => {
        await delay(1);
        throw new Error(`rejected ${what}`);
      });
      emitter.on('event', (what: string) => told.push(what));
      assert.equal(emitter.emit('event', 'one'), true);
      assert.equal(emitter.emit('event', 'two'), true);
      assert.equal(emitter.emit('other'), false);
    });
    await delay(50);
    assert.deepEqual(told, ['one', 'two']);
    assert.deepEqual(heard, ['event: thrown', 'event: rejected one', 'event: rejected two']);
  });

  it('an answer is read whole, and one that breaks off is an error for the caller', async (t) => {
    const server = createServer((request, response) => {
      response.writeHead(200, { 'content-length': 2_000_000 });
      response.write(Buffer.alloc(1_000_000));
      if (request.url === '/whole') response.end(Buffer.alloc(1_000_000));
      else setTimeout(() => response.destroy(), 20);
    });
    const at = `http://127.0.0.1:${await listen(server)}`;
    t.after(() => server.close());
    const whole = await fetch(`${at}/whole`);
    assert.equal((await whole.arrayBuffer()).byteLength, 2_000_000);
    await assert.rejects(fetch(`${at}/broken`));
  });
});
