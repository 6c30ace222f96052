import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Writable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import type { Command } from '@posthorn/cli/command.ts';
import { commands } from '@posthorn/cli/commands.ts';
import { type Context, createContext } from '@posthorn/cli/context.ts';
import { ENDPOINTS } from '@posthorn/cli/endpoints/table.ts';
import { createOutput } from '@posthorn/cli/output.ts';
import { createProgram } from '@posthorn/cli/program.ts';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { configSchema } from '@posthorn/core/platform/config.ts';
import { type Answer, type HttpServer, json, startHttp } from '../sdk/http-server.ts';
import { projectRoot } from '../support/process.ts';
import { type Cli, createCli } from './run-cli.ts';

const INSTANCE = '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01';
const routes = [
  ...listRoutes(messagingContract).map(({ name }) => name),
  ...listRoutes(billingContract).map(({ name }) => `billing.${name}`),
];

/**
 * Endpoints that always answer 403, that only Meta or the holder of the provider's secret may call, or that give the
 * same script as `openapi.script`.
 */
const WITHOUT_COMMAND = [
  ...['messages.sendButton', 'messages.sendButtonPix', 'messages.sendButtonOtp', 'messages.sendOptionList'],
  ...['cloud.handshake', 'cloud.take'],
  'billing.providerWebhook.ingest',
  'billing.openapi.script',
];

describe('every endpoint', () => {
  test('has a command, unless it has nothing to give to msgctl', () => {
    const covered = new Set(commands.flatMap(({ endpoints = [] }) => endpoints));
    assert.deepEqual(
      routes.filter((name) => !covered.has(name)),
      WITHOUT_COMMAND,
    );
    assert.deepEqual(
      [...covered].filter((name) => !routes.includes(name)),
      [],
    );
  });

  test('is known to msgctl api', () => {
    assert.deepEqual(
      ENDPOINTS.map(({ name }) => name),
      routes,
    );
  });

  test('that deletes is called by a command that asks first', () => {
    // Removing an item from a queue or a plan that has not begun destroys nothing.
    const harmless = ['scheduled.remove', 'queue.cancel'];
    for (const { name, method } of ENDPOINTS) {
      if (method !== 'DELETE' || harmless.includes(name)) continue;
      const command = commands.find(({ endpoints }) => endpoints?.includes(name)) as Command;
      assert.ok(command.destroys, `${command.name} deletes and does not ask`);
    }
  });
});

describe('commands that call an endpoint', () => {
  let server: HttpServer;
  /** The empty answer for every list that our commands read. */
  const NOTHING = { total: 0, page: 1, limit: 50, data: [], logs: [], moves: [], items: [] };
  let answer: Answer = (res) => json(res, 200, { data: [{ id: 1, name: 'x' }] });
  let cli: Cli;
  before(async () => {
    server = await startHttp((res, request, index) => answer(res, request, index));
    cli = createCli({
      POSTHORN_URL: server.url,
      POSTHORN_BILLING_URL: server.url,
      POSTHORN_API_KEY: 'svc_x',
      POSTHORN_INSTANCE: INSTANCE,
    });
  });
  after(async () => {
    cli.remove();
    await server.close();
  });

  /** In this process: seventy new ones would take a minute. */
  async function runHere(args: readonly string[]): Promise<void> {
    const nowhere = new Writable({ write: (_, __, done) => done() });
    const out = createOutput({ stdout: nowhere, stderr: nowhere, isJson: true });
    const contextOf = (options: object): Context => {
      const env = { POSTHORN_URL: server.url, POSTHORN_BILLING_URL: server.url, POSTHORN_API_KEY: 'svc_x' };
      const all = { ...env, POSTHORN_INSTANCE: INSTANCE, POSTHORN_CONFIG: cli.config };
      const made = createContext({
        options,
        env: all,
        stdin: process.stdin,
        out,
        signal: AbortSignal.timeout(9e4),
      });
      // Nobody is logged in here; the requests of a session are tested elsewhere.
      return { ...made, session: made.client };
    };
    await createProgram({ version: '0', contextOf }).parseAsync([...args], { from: 'user' });
  }

  for (const { name: words, args = {}, flags = {}, endpoints } of commands.filter(({ isCall }) => isCall)) {
    const endpoint = ENDPOINTS.find(({ name }) => name === endpoints?.[0]);
    assert.ok(endpoint);
    test(`msgctl ${words} calls ${endpoint.method} ${endpoint.path}`, async () => {
      answer = (res) => (endpoint.answer === 'text' ? void res.end('text') : json(res, 200, NOTHING));
      const given = Object.values(args).flatMap(({ isRequired }) => (isRequired ? ['7'] : []));
      const isFree = 'fields' in args;
      const fields = (isFree && endpoint.body?.slice(0, 1).map(({ name }) => `${name}=v`)) || [];
      const needed = [
        ...Object.keys(flags).filter((name) => flags[name]?.isRequired),
        ...endpoint.query.flatMap(({ isRequired, name }) =>
          isRequired && name !== 'instance_id' && !(name in args) ? [name.replaceAll('_', '-')] : [],
        ),
      ];
      const before = server.seen.length;
      await runHere([
        ...words.split(' '),
        ...given,
        ...fields,
        ...needed.flatMap((name) => [`--${name}`, '7']),
        '--yes',
      ]);
      const seen = server.seen.slice(before);
      assert.equal(seen.length, 1);
      const [path] = (seen[0]?.url ?? '').split('?');
      const wanted = endpoint.path.replace(':instanceId', INSTANCE).replace(/:\w+/g, '7');
      assert.equal(`${seen[0]?.method} ${path}`, `${endpoint.method} ${wanted}`);
      if (isFree && endpoint.body?.[0])
        assert.deepEqual(JSON.parse(seen[0]?.body ?? ''), { [endpoint.body[0].name]: 'v' });
      assert.equal(seen[0]?.headers['idempotency-key'] !== undefined, endpoint.keyed);
    });
  }

  test('print a table, or JSON', async () => {
    answer = (res) => json(res, 200, { data: [{ id: 1, email: 'a@example.com', nested: {} }] });
    assert.equal((await cli.run(['users', 'list'])).stdout, 'ID  EMAIL\n1   a@example.com\n');
    assert.deepEqual(await cli.json(['users', 'list']), {
      data: [{ id: 1, email: 'a@example.com', nested: {} }],
    });
  });

  test('take flags for the query, and refuse values that it does not have', async () => {
    await cli.json(['message', 'list', '--chat-jid', '+5511999990000', '--status', 'sent']);
    assert.match(server.seen.at(-1)?.url ?? '', /\?chat_jid=%2B5511999990000&status=sent$/);
    const { code, stderr } = await cli.run(['message', 'list', '--status', 'lost']);
    assert.equal(code, 2);
    assert.match(stderr, /status must be one of .*delivered/);
  });
});

describe('msgctl api', () => {
  let server: HttpServer;
  let cli: Cli;
  before(async () => {
    server = await startHttp((res, { url }) => {
      if (url.includes('/media/'))
        res.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from([0, 255, 1]));
      else json(res, 200, { ok: true });
    });
    cli = createCli({ POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_x', POSTHORN_INSTANCE: INSTANCE });
  });
  after(async () => {
    cli.remove();
    await server.close();
  });

  test('calls any path with fields, a body or a query', async () => {
    const { code, stdout } = await cli.run(['api', 'get', '/v1/instances?limit=5']);
    assert.deepEqual({ code, answer: JSON.parse(stdout) }, { code: 0, answer: { ok: true } });
    assert.equal(server.seen.at(-1)?.url, '/v1/instances?limit=5');
    await cli.run(['api', 'POST', '/v1/webhooks', 'url=https://a.example', 'events:=["*"]']);
    assert.deepEqual(JSON.parse(server.seen.at(-1)?.body ?? ''), { url: 'https://a.example', events: ['*'] });
    await cli.run([
      'api',
      'POST',
      '/v1/instances/{instanceId}/messages/text',
      '--body',
      '{"to":"x","text":"y"}',
    ]);
    const sent = server.seen.at(-1);
    assert.equal(sent?.url, `/v1/instances/${INSTANCE}/messages/text`);
    assert.match(String(sent?.headers['idempotency-key']), /^[0-9a-f-]{36}$/);
  });

  test('hands bytes on as they are', async () => {
    const { stdout } = await cli.run(['api', 'GET', `/v1/instances/${INSTANCE}/media/${INSTANCE}`]);
    assert.equal(stdout, Buffer.from([0, 255, 1]).toString('utf8'));
  });

  for (const [what, args, word] of [
    ['a method', ['api', 'GTE', '/health'], /did you mean GET/],
    ['a path', ['api', 'GET', '/v1/webhook'], /did you mean \/v1\/webhooks/],
    ['a method that the path does not take', ['api', 'PUT', '/v1/webhooks'], /takes POST, GET/],
    ['a field', ['api', 'POST', '/v1/webhooks', 'ulr=x'], /did you mean url/],
    ['a body that is no object', ['api', 'POST', '/v1/webhooks', '--body', '[]'], /must be a JSON object/],
    ['a deletion that nobody confirmed', ['api', 'DELETE', '/v1/webhooks/7'], /give --yes/],
  ] as [string, string[], RegExp][]) {
    test(`refuses ${what}, before it asks anything`, async () => {
      const before = server.seen.length;
      const { code, stderr } = await cli.run(args);
      assert.equal(code, 2);
      assert.match(stderr, word);
      assert.equal(server.seen.length, before);
    });
  }

  test('reads a body, a text and a file from a pipe', async () => {
    const send = ['send', 'text', '--to', '+5511999990000', '--text', '-'];
    assert.equal((await cli.run(send, {}, 'piped\n')).code, 0);
    assert.equal(JSON.parse(server.seen.at(-1)?.body ?? '').text, 'piped');
    await cli.run(['api', 'POST', '/v1/webhooks', '--body', '-'], {}, '{"url":"https://a.example"}');
    assert.deepEqual(JSON.parse(server.seen.at(-1)?.body ?? ''), { url: 'https://a.example' });
    await cli.run(['send', 'image', '--to', '+5511999990000', '--file', '-'], {}, 'bytes');
    assert.match(server.seen.at(-1)?.body ?? '', /filename="stdin"[\s\S]*\r\n\r\nbytes\r\n/);
  });
});

describe('the environment', () => {
  const file = path.join(projectRoot, 'docs/guides/environment.md');
  const rows = [...readFileSync(file, 'utf8').matchAll(/^\| `([A-Z_0-9]+)` \| ([\w, ]+) \|([^|]*)/gm)];
  const namesOf = (program: string) =>
    rows.flatMap(([, name, of]) => (of?.split(', ').includes(program) ? [name as string] : [])).sort();

  test('gives no name two meanings', () => {
    const names = [...rows.map(([, name]) => name), ...Object.keys(configSchema.shape)];
    assert.equal(new Set(names).size, names.length);
  });

  test('names every variable of msgctl there', () => {
    const help = createProgram({ version: '0', contextOf: () => assert.fail('it ran') }).helpInformation();
    const named = [...help.matchAll(/\((POSTHORN_\w+)\)/g)].map(([, name]) => name as string);
    assert.deepEqual(namesOf('msgctl'), [...named, 'POSTHORN_CONFIG', 'POSTHORN_PASSWORD'].sort());
  });
});
