import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freePort, projectRoot, waitFor } from '../support/process.ts';
import { type Cli, createCli } from './run-cli.ts';
import { type Standalone, startStandalone } from './start-standalone.ts';

/** The lines of the README's blocks of commands, as words. */
function blocks(): string[][][] {
  const readme = readFileSync(path.join(projectRoot, 'cli/README.md'), 'utf8');
  return [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) =>
    block
      .trim()
      .split('\n')
      .map((line) => {
        assert.match(line, /^npx msgctl /);
        return [...line.slice('npx msgctl '.length).matchAll(/"([^"]*)"|(\S+)/g)].map(
          ([, quoted, bare]) => quoted ?? bare ?? '',
        );
      }),
  );
}

describe('msgctl against the whole system', { timeout: 500_000 }, () => {
  let system: Standalone;
  let cli: Cli;
  before(async () => {
    system = await startStandalone({ RATE_LIMIT_PER_MINUTE: '6000' });
    cli = createCli({ POSTHORN_URL: system.url, POSTHORN_SANDBOX_URL: system.sandboxUrl });
  });
  after(async () => {
    cli?.remove();
    await system?.stop();
  });

  test('the walk through the README works as written', async () => {
    const [walk = []] = blocks();
    const printed: string[] = [];
    for (const words of walk) {
      const { code, stdout, stderr } = await cli.run(words);
      assert.equal(code, 0, `${words.join(' ')}: ${stderr}`);
      printed.push(stdout);
    }
    const [account, instance, sent, events, phone] = printed;
    assert.match(account ?? '', /api_key +svc_[0-9a-f]{64}/);
    assert.match(instance ?? '', /state +CONNECTED/);
    const messageId = /message_id +(\S+)/.exec(sent ?? '')?.[1] ?? assert.fail('no id');
    assert.match(events ?? '', /instance\.connected/);
    assert.match(events ?? '', new RegExp(`message\\.sent.*${messageId}`));
    assert.match(phone ?? '', /Hello/);
  });

  test('webhooks can be seen without a receiver, and none is left behind', async () => {
    const [, [words = []] = []] = blocks();
    const at = words.indexOf('--port') + 1;
    const listening = cli.start(words.with(at, String(await freePort())));
    await waitFor(() => /listening on/.test(listening.output()), 60_000);
    const phone = '5511999990077';
    const { phone: own } = await cli.json<{ phone: string }>(['instances', 'get']);
    await cli.json(['sandbox', 'messages', 'send', phone, '--to', own, '--text', 'Good morning']);
    await waitFor(() => /verified .* text\.received .*Good morning/.test(listening.output()), 60_000);
    const { code, stdout } = await listening.stop();
    assert.equal(code, 0);
    assert.doesNotMatch(stdout, /REFUSED|unchecked/);
    const { total } = await cli.json<{ total: number }>(['webhooks', 'list']);
    assert.equal(total, 0);
  });

  test('registering with a password continues with the code of the e-mail', async () => {
    const person = createCli({ POSTHORN_URL: system.url });
    const flags = [
      '--company',
      'Acme',
      '--email',
      'ana@example.com',
      '--name',
      'Ana',
      '--password',
      'a long password',
    ];
    const made = await person.json<{ slug: string }>(['register', ...flags]);
    assert.equal(made.slug, 'acme');
    const early = await person.run(['instances', 'create', 'support']);
    assert.match(early.stderr, /^msgctl: EMAIL_NOT_VERIFIED: /);
    const mail = await waitFor(() => {
      const mails = readdirSync(system.mailDir).map((file) =>
        readFileSync(path.join(system.mailDir, file), 'utf8'),
      );
      return mails.find((text) => text.includes('To: ana@example.com') && /^ +\d{6}\s*$/m.test(text));
    });
    const code = /^ +(\d{6})\s*$/m.exec(mail)?.[1] ?? '';
    assert.equal((await person.json(['verify-email', code])).email_verified, true);
    const instance = await person.json<{ state: string }>([
      'instances',
      'create',
      'support',
      '--connect',
      '--wait',
    ]);
    assert.equal(instance.state, 'CONNECTED');
    const key = await person.json<{ id: number; token: string }>(['tokens', 'create', '--name', 'ci']);
    await person.json(['instances', 'list', '--key', key.token]);
    await person.json(['tokens', 'revoke', String(key.id), '--yes']);
    const { code: exitCode } = await person.run(['instances', 'list', '--key', key.token]);
    assert.equal(exitCode, 4);
    await person.json(['logout']);
    assert.equal((await person.run(['instances', 'list'])).code, 2);
    person.remove();
  });
});
