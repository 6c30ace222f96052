import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { type Answer, type HttpServer, json, refuse, startHttp } from '../sdk/http-server.ts';
import { baseEnv, waitFor } from '../support/process.ts';
import { MSGCTL } from './msgctl.ts';
import { type Cli, createCli } from './run-cli.ts';
import { openCliTerminal } from './terminal-harness.ts';

const INSTANCE = '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01';

describe('Ctrl-C', () => {
  let answer: Answer = () => undefined;
  let server: HttpServer;
  let cli: Cli;
  before(async () => {
    server = await startHttp((res, request, index) => answer(res, request, index));
    // A command that does not end is killed at last, and then has no exit code.
    cli = createCli({
      POSTHORN_URL: server.url,
      POSTHORN_API_KEY: 'svc_secret',
      POSTHORN_INSTANCE: INSTANCE,
    });
  });
  after(async () => {
    cli.remove();
    await server.close();
  });

  async function interrupted(how: Answer, args: string[]) {
    answer = how;
    const from = server.seen.length;
    const running = cli.start(args);
    let hasEnded = false;
    void running.ended.then(() => {
      hasEnded = true;
    });
    await waitFor(() => hasEnded || server.seen.length > from, 90_000);
    return running.stop();
  }
  const silence: Answer = () => undefined;

  test('ends any command whose answer does not come, with 130', async () => {
    for (const args of [
      ['tokens', 'list'],
      ['message', 'list'],
      ['api', 'GET', '/v1/webhooks'],
    ]) {
      const { code, stdout, stderr } = await interrupted(silence, args);
      assert.deepEqual({ code, stdout, stderr }, { code: 130, stdout: '', stderr: '' }, args.join(' '));
    }
  });

  test('ends a send, and prints the key under which it may have been sent', async () => {
    const send = ['send', 'text', '--to', '+5511999990000', '--text', 'Hello'];
    const { code, stderr } = await interrupted(silence, [...send, '--json']);
    const { error } = JSON.parse(stderr) as { error: Record<string, unknown> };
    assert.deepEqual([code, error.code, error.exit_code], [130, 'ABORTED', 130]);
    assert.equal(error.idempotency_key, server.seen.at(-1)?.headers['idempotency-key']);
  });

  test('ends the wait for a message, and names the accepted one', async () => {
    const accepted = { status: 'queued', message_id: 'm1', task_id: 't1', idempotency_key: 'k1' };
    const { code, stderr } = await interrupted(
      (res, { method }) => (method === 'POST' ? json(res, 202, accepted) : undefined),
      ['send', 'text', '--to', '+5511999990000', '--text', 'Hello', '--wait', 'sent', '--json'],
    );
    const { error } = JSON.parse(stderr) as { error: Record<string, unknown> };
    assert.deepEqual([code, error.exit_code, error.message_id], [130, 130, 'm1']);
  });

  test('sends nothing of a text that is not whole yet', async () => {
    answer = (res) => json(res, 202, { message_id: 'm1' });
    const from = server.seen.length;
    const args = ['send', 'text', '--to', '+5511999990000', '--text', '-'];
    const child = spawn(process.execPath, [MSGCTL, ...args], {
      env: {
        ...baseEnv(),
        POSTHORN_CONFIG: cli.config,
        POSTHORN_URL: server.url,
        POSTHORN_API_KEY: 'svc_x',
        POSTHORN_INSTANCE: INSTANCE,
      },
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    child.stdin.on('error', () => undefined);
    const ended = Promise.all([once(child, 'exit'), text(child.stdout)]);
    // More than a pipe holds: once it is accepted, the command reads, and obeys Ctrl-C.
    await new Promise((taken) => child.stdin.write('the first half '.repeat(100_000), taken));
    child.kill('SIGINT');
    // As the shell does with the program before it in the pipe.
    setTimeout(() => child.stdin.end(), 50);
    const [[code]] = await ended;
    assert.equal(code, 130);
    assert.equal(server.seen.length, from);
  });

  test('and a kill end the question for a password', async (t) => {
    const terminal = await openCliTerminal({ POSTHORN_URL: server.url });
    t.after(terminal.close);
    const pidFile = path.join(path.dirname(path.dirname(cli.config)), 'pid');
    const login = `"${process.execPath}" "${MSGCTL}" login --email a@example.com`;
    for (const how of ['Ctrl-C', 'kill'] as const) {
      terminal.enter(`clear; sh -c 'echo $$ > ${pidFile}; exec ${login}'; echo "code=$?"`);
      await terminal.shows(/^Password:/m);
      if (how === 'Ctrl-C') terminal.press('C-c');
      else process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGTERM');
      await terminal.endsWith(130);
    }
  });

  test('still deletes the webhook that a command made, and reports a failure of that', async () => {
    const made = { id: 7, secret: `whsec_${Buffer.alloc(32).toString('base64')}` };
    const listen = ['webhooks', 'listen', '--port', '0', '--register'];
    const gone = await interrupted(
      (res, { method }) => (method === 'POST' ? json(res, 201, made) : void res.writeHead(204).end()),
      listen,
    );
    assert.deepEqual([gone.code, server.seen.at(-1)?.method], [0, 'DELETE']);
    const kept = await interrupted(
      (res, { method }) => (method === 'POST' ? json(res, 201, made) : refuse(res, 403, 'FORBIDDEN')),
      listen,
    );
    assert.equal(kept.code, 130);
    assert.match(kept.stderr, /FORBIDDEN/);
  });
});
