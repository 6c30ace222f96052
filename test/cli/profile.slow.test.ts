import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, type HttpServer, json, refuse, startHttp } from '../sdk/http-server.ts';
import { waitFor } from '../support/process.ts';
import { type Cli, createCli } from './run-cli.ts';

const PAGE = { data: [], total: 0, page: 1, limit: 50 };
const INSTANCE = '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01';

/** A JWT with this lifetime; nobody here checks its signature. */
function jwt(name: string, lifetimeS: number): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'HS256' })}.${part({ sub: name, exp: Math.floor(Date.now() / 1000) + lifetimeS })}.sig`;
}

function session(token: string, companyId = 7) {
  const user = { user_id: 3, role: 'owner', email: 'a@example.com', name: 'Ana' };
  return { token, company_id: companyId, ...user, is_superadmin: false, email_verified: true };
}

const cookies = (n: number) => ({
  'set-cookie': [
    `svc_refresh_token=refresh-${n}; HttpOnly; Path=/v1/auth`,
    `svc_csrf_token=csrf-${n}; Path=/`,
  ],
});

describe('the profile', () => {
  let server: HttpServer;
  let answers: Record<string, Answer>;
  let cli: Cli;
  beforeEach(async () => {
    answers = { 'GET /v1/instances': (res) => json(res, 200, PAGE) };
    server = await startHttp((res, request, index) => {
      const answer = answers[`${request.method} ${request.url.split('?')[0]}`];
      return answer ? answer(res, request, index) : refuse(res, 404, 'NOT_FOUND');
    });
    cli = createCli({ POSTHORN_URL: server.url });
  });
  afterEach(async () => {
    cli.remove();
    await server.close();
  });

  const stored = () => JSON.parse(readFileSync(cli.config, 'utf8')).accounts[server.url];
  const seen = (path: string) => server.seen.filter(({ url }) => url.startsWith(path));

  function answerQuickRegister(): void {
    answers['POST /v1/auth/quick-register'] = (res) =>
      json(res, 201, {
        company_id: 7,
        api_key: 'svc_stored',
        email: 'a@example.com',
        password: 'pw',
        base_url: 'x',
        message: 'm',
      });
  }

  async function quickRegister(): Promise<void> {
    answerQuickRegister();
    await cli.json(['quick-register', '--email', 'a@example.com']);
  }

  async function logIn(token: string): Promise<void> {
    answers['POST /v1/auth/login'] = (res) => json(res, 200, session(token), cookies(1));
    await cli.json(['login', '--email', 'a@example.com'], { POSTHORN_PASSWORD: 'long password' });
  }

  test('keeps the key for later commands, readable by its owner alone', async () => {
    await quickRegister();
    assert.equal(statSync(cli.config).mode & 0o777, 0o600);
    await cli.json(['instances', 'list']);
    assert.equal(seen('/v1/instances')[0]?.headers['x-api-key'], 'svc_stored');
  });

  test('never sends a key to another address than the one it came from', async () => {
    await quickRegister();
    const other = await startHttp((res) => json(res, 200, PAGE));
    const { code, stderr } = await cli.run(['instances', 'list', '--url', other.url]);
    assert.equal(code, 2);
    assert.match(stderr, /no key for/);
    assert.equal(other.seen.length, 0);
    await other.close();
  });

  test('asks where the billing of another machine is, and sends its key to none on this one', async () => {
    const env = { POSTHORN_URL: 'https://api.example.com', POSTHORN_API_KEY: 'svc_other' };
    const { code, stderr } = await cli.run(['api', 'GET', '/v1/billing/charges'], env);
    assert.equal(code, 2);
    assert.match(stderr, /where is the billing of https:\/\/api\.example\.com\?/);
  });

  test('gives way to --key, and to POSTHORN_API_KEY', async () => {
    await quickRegister();
    await cli.json(['instances', 'list'], { POSTHORN_API_KEY: 'svc_env' });
    await cli.json(['instances', 'list', '--key', 'svc_flag'], { POSTHORN_API_KEY: 'svc_env' });
    assert.deepEqual(
      seen('/v1/instances').map(({ headers }) => headers['x-api-key']),
      ['svc_env', 'svc_flag'],
    );
  });

  test('remembers the service, so that later commands need no --url', async () => {
    await quickRegister();
    const { url } = await cli.json(['whoami'], { POSTHORN_URL: '' });
    assert.equal(url, server.url);
  });

  test('keeps the address of the service in a new profile, and none of its keys', async () => {
    await quickRegister();
    const { url } = await cli.json(['whoami', '--profile', 'other'], { POSTHORN_URL: '' });
    assert.equal(url, server.url);
    const { code, stderr } = await cli.run(['instances', 'list', '--profile', 'other'], { POSTHORN_URL: '' });
    assert.equal(code, 2);
    assert.match(stderr, /no key for/);
  });

  test('takes the address of the chosen profile before that of the default one', async () => {
    await quickRegister();
    const chosen = 'http://127.0.0.1:1';
    const file = JSON.parse(readFileSync(cli.config, 'utf8'));
    const profiles = { chosen: { default_url: chosen, accounts: {} } };
    writeFileSync(cli.config, JSON.stringify({ ...file, current_profile: 'chosen', profiles }));
    const urlIn = async (...profile: string[]) =>
      (await cli.json(['whoami', ...profile], { POSTHORN_URL: '' })).url;
    assert.deepEqual(
      [await urlIn(), await urlIn('--profile', 'new'), await urlIn('--profile', 'default')],
      [chosen, chosen, server.url],
    );
  });

  test('shows the last four characters of a key and no more', async () => {
    await quickRegister();
    const { stdout } = await cli.run(['whoami']);
    assert.match(stdout, /\.\.\.ored/);
    assert.doesNotMatch(stdout, /svc_stored/);
  });

  test('holds a login too when registering with a password, which entering the code needs', async () => {
    answers['POST /v1/auth/register'] = (res) =>
      json(res, 201, {
        company_id: 7,
        token: 'svc_new',
        api_token: 'svc_new',
        slug: 'acme',
        email_verification_required: true,
      });
    answers['POST /v1/auth/login'] = (res) => json(res, 200, session(jwt('a', 900)), cookies(1));
    answers['POST /v1/auth/verify-email'] = (res) => json(res, 200, session(jwt('b', 900)), cookies(2));
    const flags = [
      '--company',
      'Acme',
      '--email',
      'a@example.com',
      '--name',
      'Ana',
      '--password',
      'long password',
    ];
    const { stderr } = await cli.run(['register', ...flags]);
    assert.match(stderr, /msgctl verify-email <code>/);
    assert.deepEqual(JSON.parse(seen('/v1/auth/register')[0]?.body ?? ''), {
      company_name: 'Acme',
      owner_email: 'a@example.com',
      owner_name: 'Ana',
      password: 'long password',
    });
    await cli.json(['verify-email', '042137']);
    const verify = seen('/v1/auth/verify-email')[0];
    assert.match(verify?.headers.authorization ?? '', /^Bearer ey/);
    assert.equal(verify?.headers['x-api-key'], undefined);
    assert.equal(stored().api_key, 'svc_new', 'the key stays');
    assert.equal(stored().session.refresh_token, 'refresh-2');
  });

  test('asks for the password where there is no terminal by saying how to give it', async () => {
    const { code, stderr } = await cli.run(['login', '--email', 'a@example.com']);
    assert.equal(code, 2);
    assert.equal(stderr, 'msgctl: --password or POSTHORN_PASSWORD is required\n');
    assert.equal(server.seen.length, 0);
  });

  test('uses a login while it lasts and renews it before it ends', async () => {
    await logIn(jwt('long', 900));
    await cli.json(['instances', 'list']);
    assert.equal(seen('/v1/auth/refresh').length, 0);
    await logIn(jwt('short', 5));
    const fresh = jwt('fresh', 900);
    answers['POST /v1/auth/refresh'] = (res) => json(res, 200, session(fresh), cookies(2));
    await cli.json(['instances', 'list']);
    const [refresh] = seen('/v1/auth/refresh');
    assert.equal(refresh?.headers.cookie, 'svc_refresh_token=refresh-1; svc_csrf_token=csrf-1');
    assert.equal(refresh?.headers['x-csrf-token'], 'csrf-1');
    assert.equal(seen('/v1/instances').at(-1)?.headers.authorization, `Bearer ${fresh}`);
    assert.equal(stored().session.refresh_token, 'refresh-2', 'the old one works once only');
  });

  test('reports the end of a login that cannot be renewed', async () => {
    await logIn(jwt('short', 5));
    answers['POST /v1/auth/refresh'] = (res) => refuse(res, 401, 'REFRESH_FAILED');
    const { code, stderr } = await cli.run(['instances', 'list']);
    assert.equal(code, 4);
    assert.match(stderr, /^msgctl: REFRESH_FAILED/);
  });

  test('keeps the renewal of a login that was under way at Ctrl-C', async () => {
    await logIn(jwt('ends soon', 10));
    const asked = Promise.withResolvers<() => void>();
    answers['POST /v1/auth/refresh'] = (res) =>
      asked.resolve(() => json(res, 200, session(jwt('renewed', 900)), cookies(2)));
    const running = cli.start(['instances', 'list']);
    const answer = await asked.promise;
    setTimeout(answer, 500);
    const { code } = await running.stop();
    assert.deepEqual([code, stored().session.refresh_token], [130, 'refresh-2']);
  });

  test('never gives up a key that was shown once for another one', async () => {
    await quickRegister();
    const before = server.seen.length;
    const again = await cli.run(['quick-register', '--email', 'b@example.com']);
    assert.equal(again.code, 2);
    assert.match(again.stderr, /holds a key of .*, which cannot be shown again: give another --profile/);
    assert.equal(server.seen.length, before);
    assert.equal(stored().api_key, 'svc_stored');
  });

  test('holds several accounts of one service under names', async () => {
    await quickRegister();
    answers['POST /v1/auth/quick-register'] = (res) =>
      json(res, 201, { company_id: 8, api_key: 'svc_other', email: 'b@example.com' });
    await cli.json(['quick-register', '--email', 'b@example.com', '--profile', 'other']);
    await cli.json(['instances', 'list']);
    await cli.json(['instances', 'list', '--profile', 'other']);
    await cli.json(['instances', 'list'], { POSTHORN_PROFILE: 'other' });
    await cli.json(['profiles', 'use', 'other']);
    await cli.json(['instances', 'list']);
    assert.deepEqual(
      seen('/v1/instances').map(({ headers }) => headers['x-api-key']),
      ['svc_stored', 'svc_other', 'svc_other', 'svc_other'],
    );
    const { data } = await cli.json<{ data: unknown[] }>(['profiles']);
    assert.deepEqual(data, [
      { name: 'default', is_current: false },
      { name: 'other', is_current: true },
    ]);
    const unknown = await cli.run(['profiles', 'use', 'othr']);
    assert.match(unknown.stderr, /there is no profile othr \(did you mean other\?\)/);
    await cli.json(['profiles', 'remove', 'other', '--yes']);
    assert.deepEqual((await cli.json<{ data: unknown[] }>(['profiles'])).data.length, 1);
    assert.equal(stored().api_key, 'svc_stored');
    assert.equal(statSync(cli.config).mode & 0o777, 0o600);
  });

  test('forgets a key that belongs to another company than the login', async () => {
    await quickRegister();
    answers['POST /v1/auth/login'] = (res) => json(res, 200, session(jwt('x', 900), 8), cookies(1));
    await cli.json(['login', '--email', 'b@example.com', '--password', 'long password']);
    assert.equal(stored().api_key, undefined);
    assert.equal(stored().company_id, 8);
  });

  test('forgets everything at logout, and ends the login at the service', async () => {
    await logIn(jwt('long', 900));
    answers['POST /v1/auth/logout'] = (res) => void res.writeHead(204).end();
    await cli.json(['logout']);
    assert.equal(seen('/v1/auth/logout').length, 1);
    assert.deepEqual(stored(), {});
  });

  test('remembers the instance made last, takes names for ids, and forgets it when it is deleted', async () => {
    await quickRegister();
    const instance = { id: INSTANCE, name: 'sales', state: 'CREATED' };
    answers['POST /v1/instances'] = (res) => json(res, 201, instance);
    answers[`GET /v1/instances/${INSTANCE}/usage`] = (res) => json(res, 200, { messages_today: 1 });
    answers['GET /v1/instances'] = (res) =>
      json(res, 200, { ...PAGE, data: [instance, { ...instance, id: 'other', name: 'support' }], total: 2 });
    answers[`DELETE /v1/instances/${INSTANCE}`] = (res) => void res.writeHead(204).end();
    await cli.json(['instances', 'create', 'sales']);
    assert.deepEqual(await cli.json(['usage']), { messages_today: 1 });
    assert.deepEqual(await cli.json(['usage', '--instance', 'sales']), { messages_today: 1 });
    const unknown = await cli.run(['usage', '--instance', 'nobody']);
    assert.equal(unknown.code, 5);
    await cli.json(['instances', 'delete', 'sales', '--yes']);
    const { code, stderr } = await cli.run(['usage']);
    assert.equal(code, 2);
    assert.match(stderr, /which instance\?/);
  });

  test('that is damaged is named, not overwritten', async () => {
    await quickRegister();
    writeFileSync(cli.config, '{"accounts": ');
    const { code, stderr } = await cli.run(['quick-register', '--email', 'a@example.com']);
    assert.equal(code, 1);
    assert.match(stderr, /config\.json is not valid JSON: mend it or delete it/);
    assert.equal(readFileSync(cli.config, 'utf8'), '{"accounts": ');
  });

  test('that cannot be written costs no key that is shown once, and no instance', async () => {
    answerQuickRegister();
    answers['POST /v1/instances'] = (res) =>
      json(res, 201, { id: INSTANCE, name: 'sales', state: 'CREATED' });
    symlinkSync('nowhere', dirname(cli.config));
    const registered = await cli.run(['quick-register', '--email', 'a@example.com']);
    assert.equal(registered.code, 1);
    assert.match(registered.stdout, /api_key +svc_stored/);
    assert.match(registered.stderr, /cannot write .*config\.json/);
    const env = { POSTHORN_API_KEY: 'svc_stored' };
    const created = await cli.run(['instances', 'create', 'sales'], env);
    assert.equal(created.code, 0, created.stderr);
    assert.match(created.stdout, new RegExp(INSTANCE));
    assert.match(created.stderr, /cannot write .*; later commands need --instance/);
  });

  test('is changed by one msgctl at a time, so that none overwrites the changes of another', async () => {
    await quickRegister();
    const lock = `${cli.config}.lock`;
    writeFileSync(lock, '');
    const before = readFileSync(cli.config, 'utf8');
    const running = cli.start(['quick-register', '--email', 'b@example.com', '--profile', 'second']);
    await waitFor(() => running.output().includes('svc_stored'));
    await delay(500);
    assert.equal(readFileSync(cli.config, 'utf8'), before, 'it waits');
    const changed = JSON.parse(before);
    changed.accounts[server.url].instance_id = INSTANCE;
    writeFileSync(cli.config, JSON.stringify(changed));
    rmSync(lock);
    assert.equal((await running.ended).code, 0);
    const { accounts, profiles } = JSON.parse(readFileSync(cli.config, 'utf8'));
    assert.equal(accounts[server.url].instance_id, INSTANCE);
    assert.equal(profiles.second.accounts[server.url].api_key, 'svc_stored');
    assert.equal(existsSync(lock), false);
  });

  test('stays usable after a msgctl that was killed while it changed the file', async () => {
    await quickRegister();
    writeFileSync(`${cli.config}.lock`, '');
    answers[`GET /v1/instances/${INSTANCE}`] = (res) => json(res, 200, { id: INSTANCE, name: 'sales' });
    const { code } = await cli.run(['instances', 'use', INSTANCE]);
    assert.deepEqual([code, stored().instance_id], [0, INSTANCE]);
  });

  test('is not made by commands that keep nothing', async () => {
    await cli.run(['instances', 'list', '--key', 'svc_flag']);
    assert.equal(existsSync(cli.config), false);
  });
});
