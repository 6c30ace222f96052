import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { TRIGGERS } from '@posthorn/cli/commands/trigger/triggers.ts';
import { type Answer, type HttpServer, json, refuse, startHttp } from '../sdk/http-server.ts';
import { ensureProgram } from '../support/debian-package.ts';
import { freePort, projectRoot, waitFor } from '../support/process.ts';
import { openTerminal } from '../support/tmux.ts';
import { type Cli, createCli } from './run-cli.ts';
import { type Standalone, startStandalone } from './start-standalone.ts';

const INSTANCE = '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01';

/** One of each kind. */
const TRIED = [
  'image.received',
  'reaction.received',
  'message.edited',
  'message.deleted',
  'message.read',
  'text.delivery_failed',
  'status.received',
  'presence.updated',
  'call.received',
];

interface Line {
  check: string;
  level: string;
  says: string;
}
const linesOf = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

describe('the developer commands', { timeout: 500_000 }, () => {
  let system: Standalone;
  let cli: Cli;
  before(async () => {
    system = await startStandalone({ RATE_LIMIT_PER_MINUTE: '6000' });
    const env = { POSTHORN_URL: system.url, POSTHORN_SANDBOX_URL: system.sandboxUrl };
    cli = createCli(env, { timeoutMs: 200_000 });
  });
  after(async () => {
    cli?.remove();
    await system?.stop();
  });

  test('msgctl dev registers, pairs an instance and prints the events', async () => {
    const running = cli.start(['dev', '--json']);
    await waitFor(async () => (await cli.run(['trigger', 'text.received'])).code === 0, 90_000, {
      everyMs: 1_000,
    });
    await waitFor(() => /"type":"text\.received"/.test(running.output()), 90_000);
    const { code } = await running.stop();
    assert.equal(code, 0);
    const { data } = await cli.json<{ data: { name: string; state: string }[] }>(['instances', 'list']);
    assert.deepEqual(
      data.map(({ name, state }) => [name, state]),
      [['dev', 'CONNECTED']],
    );
  });

  test('send --wait returns when the message has reached the state that is asked for', async () => {
    const send = ['send', 'text', '--to', '5511999990055', '--text', 'Hello', '--wait', 'read'];
    const { status, message_id } = await cli.json(send);
    assert.equal(status, 'read');
    assert.match(String(message_id), /^[0-9a-f-]{36}$/);
  });

  for (const event of TRIED) {
    test(`trigger ${event} causes the event`, async () => {
      assert.equal((await cli.json(['trigger', event])).type, event);
    });
  }

  test('doctor finds no fault in a healthy service, and names the faults of another one', async () => {
    // A company of its own.
    const person = createCli({ POSTHORN_URL: system.url, POSTHORN_SANDBOX_URL: system.sandboxUrl });
    await person.json(['quick-register', '--email', 'ana@example.com']);
    await person.json(['instances', 'create', 'sales', '--wait']);
    const well = await person.run(['doctor', '--json']);
    assert.equal(well.code, 0, well.stdout + well.stderr);
    const found = linesOf(well.stdout);
    assert.deepEqual(
      found.map(({ check, level }) => [check, level]),
      ['service', 'ready', 'clock', 'version', 'key', 'instances', 'webhooks', 'stream'].map((check) => [
        check,
        'ok',
      ]),
    );
    const { id } = await person.json<{ id: number }>([
      'webhooks',
      'create',
      `http://127.0.0.1:${await freePort()}/`,
    ]);
    await person.json(['webhooks', 'update', String(id), '--disable']);
    await person.json(['instances', 'disconnect']);
    // The worker does it.
    await waitFor(async () => {
      const { state } = await person.json<{ state: string }>(['instances', 'get']);
      return state === 'DISCONNECTED';
    }, 60_000);
    const { code, stdout } = await person.run(['doctor']);
    assert.equal(code, 0, 'warnings are no errors');
    assert.match(stdout, /^warning +instances +sales is DISCONNECTED\n +msgctl instances connect --wait$/m);
    assert.match(
      stdout,
      new RegExp(
        `^warning +webhooks +${id} .* is switched off\n +msgctl webhooks update ${id} --enable$`,
        'm',
      ),
    );
    person.remove();
  });
});

describe('msgctl dev in a checkout', { timeout: 500_000 }, () => {
  test('starts a service, and stops it at the end', async () => {
    const ports = { url: await freePort(), billing: await freePort(), sandbox: await freePort() };
    const cli = createCli(
      {
        POSTHORN_URL: `http://127.0.0.1:${ports.url}`,
        POSTHORN_SANDBOX_URL: `http://127.0.0.1:${ports.sandbox}`,
        BILLING_PORT: String(ports.billing),
      },
      // A command that is killed leaves the service that it started behind.
      { cwd: projectRoot, timeoutMs: 180_000, killSignal: 'SIGTERM' },
    );
    const dataDir = path.join(path.dirname(cli.config), '..', 'data');
    const running = cli.start(['dev'], { DATA_DIR: dataDir });
    await waitFor(() => /instance +dev .*, phone \d+/.test(running.output()), 90_000);
    const { code, stderr } = await running.stop();
    assert.equal(code, 0, stderr);
    const after = await cli.run(['health']);
    assert.equal(after.code, 3);
    const database = path.join(dataDir, 'postgres');
    // Outside of it where only root may enter the temp folder.
    if (existsSync(database)) rmSync(realpathSync(database), { recursive: true });
    cli.remove();
  });
});

describe('msgctl against a service with prepared answers', () => {
  let answer: Answer;
  let server: HttpServer;
  let cli: Cli;
  before(async () => {
    server = await startHttp((res, request, index) => answer(res, request, index));
    cli = createCli({ POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_x', POSTHORN_INSTANCE: INSTANCE });
  });
  after(async () => {
    cli.remove();
    await server.close();
  });

  const send = ['send', 'text', '--to', '+5511999990000', '--text', 'hi', '--json'];
  function messageIs(status: string, failed_reason: string | null = null): void {
    const message_id = randomUUID();
    answer = (res, { method }) =>
      method === 'POST'
        ? json(res, 202, { status: 'queued', message_id, task_id: 't', idempotency_key: 'k' })
        : json(res, 200, { message_id, status, failed_reason });
  }

  test('send --wait exits with 1 when the message fails', async () => {
    messageIs('failed', 'no_such_number');
    const { code, stderr } = await cli.run([...send, '--wait', 'sent']);
    assert.equal(code, 1);
    const { error } = JSON.parse(stderr);
    assert.deepEqual([error.code, error.failed_reason], ['MESSAGE_FAILED', 'no_such_number']);
  });

  test('send --wait exits with 6 when the message is not there in time, and says how far it got', async () => {
    messageIs('sent');
    const { code, stderr } = await cli.run([...send, '--wait', 'delivered', '--timeout', '1']);
    assert.equal(code, 6);
    const { error } = JSON.parse(stderr);
    assert.deepEqual([error.code, error.status, error.exit_code], ['NOT_YET', 'sent', 6]);
    assert.match(error.message_id, /^[0-9a-f-]{36}$/);
  });

  test('send --wait refuses a state that does not exist', async () => {
    const { code, stderr } = await cli.run([...send, '--wait', 'delivred']);
    assert.equal(code, 2);
    assert.match(stderr, /did you mean delivered\?/);
  });

  test('trigger lists the events that it can cause, and suggests the closest one', async () => {
    const { stdout } = await cli.run(['trigger']);
    for (const event of Object.keys(TRIGGERS)) assert.ok(stdout.includes(`${event}\n`));
    const { code, stderr } = await cli.run(['trigger', 'message.recieved']);
    assert.equal(code, 2);
    assert.match(stderr, /did you mean message\.received\?/);
  });

  test('trigger leaves real networks alone', async () => {
    answer = (res, { url }) =>
      url.startsWith('/v1/events')
        ? json(res, 200, { data: [], next_cursor: null, reset: false })
        : json(res, 200, { id: INSTANCE, driver: 'whatsapp', state: 'CONNECTED', phone: '5511999990000' });
    const { code, stderr } = await cli.run(['trigger', 'message.received']);
    assert.equal(code, 2);
    assert.match(stderr, /on the sandbox alone/);
  });

  const page = { data: [], total: 0, page: 1, limit: 200, next_cursor: null, reset: false };
  for (const [what, how, check, exitCode] of [
    [
      'a key that does not count',
      (res, { url }) =>
        url.startsWith('/v1/') ? refuse(res, 401, 'TOKEN_INVALID') : json(res, 200, HEALTHY),
      'key',
      4,
    ],
    [
      'a clock that is off',
      (res) => {
        res.setHeader('date', new Date(Date.now() - 3_600_000).toUTCString());
        json(res, 200, { ...HEALTHY, ...page, webhooks: [] });
      },
      'clock',
      1,
    ],
    [
      'a service that is not ready',
      (res, { url }) =>
        url === '/ready'
          ? json(res, 503, { status: 'unavailable', service: 'messaging', checks: { broker: 'away' } })
          : json(res, 200, { ...HEALTHY, ...page, webhooks: [] }),
      'ready',
      6,
    ],
    [
      'a stream that does not open',
      (res, { url }) =>
        url.startsWith('/v1/events/stream')
          ? refuse(res, 404, 'NOT_FOUND')
          : json(res, 200, { ...HEALTHY, ...page, webhooks: [] }),
      'stream',
      1,
    ],
  ] as [string, Answer, string, number][]) {
    test(`doctor finds ${what}, and exits with ${exitCode}`, async () => {
      answer = how;
      const { code, stdout } = await cli.run(['doctor', '--json']);
      assert.equal(code, exitCode, stdout);
      const [error] = linesOf(stdout).filter(({ level }) => level === 'error');
      assert.equal(error?.check, check);
    });
  }

  test('doctor names the checks of /ready that failed, and none that is ok with a remark', async () => {
    const checks = {
      database: 'ok',
      clock: "ok, but the clock of this machine is 90.0 s ahead of the database's",
    };
    answer = (res, { url }) =>
      url === '/ready'
        ? json(res, 503, {
            status: 'unavailable',
            service: 'messaging',
            checks: { ...checks, broker: 'away' },
          })
        : json(res, 200, { ...HEALTHY, ...page, webhooks: [] });
    const { stdout } = await cli.run(['doctor', '--json']);
    const [error] = linesOf(stdout).filter(({ level }) => level === 'error');
    assert.equal(error?.says, 'broker: away');
  });

  test('doctor exits with 3 where nobody listens', async () => {
    const { code, stdout } = await cli.run(['doctor', '--url', `http://127.0.0.1:${await freePort()}`]);
    assert.equal(code, 3);
    assert.match(stdout, /^error +service +NETWORK/);
  });

  test('completion completes commands and flags in bash', async () => {
    const script = path.join(path.dirname(cli.config), '..', 'completion.bash');
    writeFileSync(script, (await cli.run(['completion', 'bash'])).stdout);
    const complete = (...words: string[]) => {
      const typed = words.map((word) => `'${word}'`).join(' ');
      const run = `source '${script}'; COMP_WORDS=(${typed}); COMP_CWORD=${words.length - 1}; _msgctl; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return execFileSync('bash', ['-c', run], { encoding: 'utf8' }).trim().split('\n');
    };
    assert.deepEqual(complete('msgctl', 'instances', 'setti'), ['settings']);
    assert.deepEqual(complete('msgctl', '--json', 'webhooks', 'listen', '--forw'), ['--forward-to']);
    assert.deepEqual(complete('msgctl', 'instances', 'list', '--sta'), ['--state']);
    assert.deepEqual(complete('msgctl', 'trigger', 'message.rec'), ['message.received']);
    assert.ok(complete('msgctl', '').includes('doctor'));
  });

  test('completion completes in fish, and in zsh', async () => {
    for (const shell of ['fish', 'zsh']) await ensureProgram(shell);
    const fish = path.join(path.dirname(cli.config), '..', 'msgctl.fish');
    writeFileSync(fish, (await cli.run(['completion', 'fish'])).stdout);
    const complete = (line: string) =>
      execFileSync('fish', ['--no-config', '-c', `source '${fish}'; complete -C '${line}'`], {
        encoding: 'utf8',
      });
    assert.match(complete('msgctl instances setti'), /^settings\t/);
    assert.match(complete('msgctl webhooks listen --forw'), /^--forward-to\t/);
    assert.match(complete('msgctl trigger message.rec'), /^message\.received\n/);

    const zsh = path.join(path.dirname(cli.config), '..', '_msgctl');
    writeFileSync(zsh, (await cli.run(['completion', 'zsh'])).stdout);
    const terminal = await openTerminal({ cwd: path.dirname(zsh), env: {} });
    terminal.enter('exec zsh -f');
    terminal.enter(`autoload -U compinit; compinit -u -D; source '${zsh}'; clear; echo loaded`);
    await terminal.shows(/^loaded/m);
    terminal.type('msgctl webhooks listen --forw');
    terminal.press('Tab');
    await terminal.shows(/msgctl webhooks listen --forward-to/);
    terminal.close();
  });

  test('completion knows no other shell', async () => {
    assert.equal((await cli.run(['completion', 'tcsh'])).code, 2);
  });
});

const HEALTHY = {
  status: 'ready',
  service: 'messaging',
  checks: {},
  info: { version: '0.1.0' },
};
