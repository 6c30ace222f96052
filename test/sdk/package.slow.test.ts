import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf } from '@posthorn/contract/route-meta.ts';
import { build } from 'esbuild';
import type { z } from 'zod/v4';
import { type Standalone, startStandalone } from '../cli/start-standalone.ts';
import { openPage } from '../support/chromium.ts';
import { tellFigure } from '../support/figures.ts';
import { baseEnv, projectRoot } from '../support/process.ts';
import { askShared } from '../support/shared.ts';
import { type HttpServer, json, startHttp } from './http-server.ts';
import { NAMED_TYPES, programOfExamples, WRONG_TYPES } from './typed-bodies.ts';

const run = promisify(execFile);
/** Runs npm's scripts under the Node of this test, not under the first one on PATH. */
const env = { ...baseEnv(), PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}` };

describe('the published package', { timeout: 500_000 }, () => {
  let folder: string;
  let server: HttpServer;

  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'posthorn-sdk-'));
    const packed = path.join(folder, 'packed');
    mkdirSync(packed);
    if (!(await askShared('packages')))
      await run(process.execPath, ['sdk/build.ts'], { cwd: projectRoot, env });
    await run('npm', ['pack', './sdk/dist', '--pack-destination', packed], { cwd: projectRoot, env });
    const [tarball] = readdirSync(packed);
    writeFileSync(path.join(folder, 'package.json'), '{"name":"consumer","private":true}');
    await run(
      'npm',
      ['install', '--offline', '--no-audit', '--no-fund', path.join(packed, tarball as string)],
      {
        cwd: folder,
        env,
      },
    );
    server = await startHttp((res, { headers }) =>
      json(res, 200, { status: 'ok', service: headers['x-api-key'] }),
    );
  });
  after(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });

  const USE = `
    const client = createClient({ baseUrl: process.argv[2], apiKey: 'svc_x' });
    client.health.health().then((health) => console.log(health.service, typeof client.messages.sendText));
    verifyWebhook('{}', {}, 'whsec_AAAA').catch((error) => console.log(error.code));
  `;

  for (const [file, head] of [
    ['use.mjs', "import { createClient, verifyWebhook } from '@posthorn/sdk';"],
    ['use.cjs', "const { createClient, verifyWebhook } = require('@posthorn/sdk');"],
  ] as const) {
    test(`installs offline, without anything else, and works from ${file}`, async () => {
      writeFileSync(path.join(folder, file), `${head}${USE}`);
      const { stdout } = await run(process.execPath, [file, server.url], { cwd: folder, env });
      assert.deepEqual(stdout.trim().split('\n').sort(), ['MISSING_HEADER', 'svc_x function']);
    });
  }

  test('has no dependencies and carries no schema library', () => {
    const installed = path.join(folder, 'node_modules');
    assert.deepEqual(
      readdirSync(installed).filter((name) => !name.startsWith('.')),
      ['@posthorn'],
    );
    assert.deepEqual(readdirSync(path.join(installed, '@posthorn')), ['sdk']);
    const root = path.join(installed, '@posthorn/sdk');
    const code = ['index.cjs', 'index.cjs.map', 'index.d.cts', 'index.d.ts', 'index.js', 'index.js.map'];
    const texts = ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'];
    assert.deepEqual(readdirSync(root).sort(), [...texts, ...code].sort());
    for (const file of code) {
      const text = readFileSync(path.join(root, file), 'utf8');
      assert.doesNotMatch(text, /zod|ts-rest|@posthorn\/contract/, file);
      assert.ok(!text.includes(projectRoot), `${file} names a folder of the machine it was built on`);
    }
  });

  test('names its own entries only, and no source that it does not carry', () => {
    const root = path.join(folder, 'node_modules/@posthorn/sdk');
    const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
    assert.deepEqual(Object.keys(manifest.exports), ['.', './package.json']);
    assert.equal(manifest.private, undefined);
    assert.equal(manifest.repository.directory, 'sdk');
    for (const file of ['index.js.map', 'index.cjs.map']) {
      const map = JSON.parse(readFileSync(path.join(root, file), 'utf8'));
      assert.equal(map.sourcesContent.length, map.sources.length);
    }
  });

  test('describes the fields of bodies and answers', () => {
    const types = installedTypes();
    assert.match(types, /\/\*\* A phone number, an individual JID or a group JID \*\/\n\s*to: string;/);
    assert.match(types, /\/\*\* The UUID of the instance. \*\/\n\s*instanceId: string \| number;/);
  });

  /** Compiles strict consumers with the package's types and Node's, and no others. Returns the compiler's output. */
  async function compile(
    sources: Record<string, string>,
    modules: readonly string[] = ['--module', 'nodenext'],
  ): Promise<string> {
    const types = path.join(folder, 'node_modules/@types');
    mkdirSync(types, { recursive: true });
    for (const name of ['@types/node', 'undici-types']) {
      const at = path.join(folder, 'node_modules', name);
      rmSync(at, { force: true });
      symlinkSync(path.join(projectRoot, 'node_modules', name), at);
    }
    for (const [file, source] of Object.entries(sources)) writeFileSync(path.join(folder, file), source);
    const flags = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false'];
    const target = ['--target', 'es2022', ...modules, '--types', 'node'];
    const tsc = path.join(projectRoot, 'node_modules/typescript/bin/tsc');
    const args = [tsc, ...flags, ...target, '--ignoreConfig', ...Object.keys(sources)];
    return run(process.execPath, args, { cwd: folder, env }).then(
      () => '',
      (error: { stdout: string }) => error.stdout,
    );
  }

  // One run of the compiler for all: each reads the types of the package and of Node anew.
  let compiled: Promise<string> | undefined;
  /** The compiler's errors in one of the consumers below. */
  async function faultsIn(file: string): Promise<{ lines: number[]; found: string }> {
    compiled ??= compile({
      'consumer.mts': TYPED,
      'consumer.cts': TYPED,
      'wrong.mts': WRONG,
      'named.mts': NAMED_TYPES,
      'named.cts': NAMED_TYPES,
      'unnamed.mts': WRONG_TYPES,
      'examples.mts': programOfExamples(installedTypes()).program,
    });
    const told = (await compiled).split(/\n(?! )/).filter((each) => each.startsWith(`${file}(`));
    const lines = told.map((each) => Number(/\((\d+),/.exec(each)?.[1]));
    return { lines: [...new Set(lines)].sort((a, b) => a - b), found: told.join('\n') };
  }

  const installedTypes = () =>
    readFileSync(path.join(folder, 'node_modules/@posthorn/sdk/index.d.ts'), 'utf8');

  const TYPED = `
import { type Client, createClient, type Instance, iterate, type Message, PosthornError, verifyWebhook } from '@posthorn/sdk';
const client: Client = createClient({ baseUrl: 'http://127.0.0.1:8080', apiKey: process.env.POSTHORN_API_KEY });
export async function use(instanceId: string): Promise<Message> {
  const made: Instance = await client.instances.create({ body: { name: 'sales' } });
  const gone: undefined = await client.instances.remove({ instanceId: made.id });
  const sent = await client.messages.sendText({ instanceId, body: { to: '+55', text: 'x' }, idempotencyKey: 'k' });
  for await (const event of client.events.stream({ types: ['message.*'] })) {
    if (event.type === 'message.received') console.log(event.data.content, event.cursor, gone);
  }
  const event = await verifyWebhook('{}', new Headers(), ['whsec_x'], { toleranceSeconds: 60 });
  if (event.type === 'instance.connected') console.log(event.data.state satisfies Instance['state']);
  for await (const event of client.events.stream({ types: ['instance.connected', '*.deleted'] })) {
    event.type satisfies 'instance.connected' | 'text.deleted' | \`\${string}.deleted\`;
  }
  for await (const { status } of iterate(client.messages.list, { instanceId })) status satisfies Message['status'];
  const { data, response } = await client.media
    .upload({ instanceId, body: { file: new Uint8Array(1) } })
    .withResponse();
  console.log(data.media_id, response.headers);
  try {
    await client.messages.waitFor({ instanceId, messageId: sent.message_id }, 'delivered');
    return await client.messages.get({ instanceId, messageId: sent.message_id }, { timeoutMs: 1000 });
  } catch (error) {
    if (error instanceof PosthornError && error.code === 'MESSAGE_NOT_FOUND') console.log(error.retryAfterMs);
    throw error;
  }
}
`;

  test('type-checks a strict TypeScript consumer, as an ES module and as CommonJS', async () => {
    for (const file of ['consumer.mts', 'consumer.cts']) assert.equal((await faultsIn(file)).found, '');
  });

  const WRONG = `import { createClient } from '@posthorn/sdk';
const client = createClient({ baseUrl: 'x' });
client.instances.create({ body: { name: 5 } });
client.instances.get({});
client.messages.sendText({ instanceId: 'x', body: { to: 'y' } });
client.instances.create({ body: { name: 'x' }, idempotencyKey: 'k' });
client.events.ws();
client.events.stream({ types: ['message.snt'] });
client.messages.sendImage({ instanceId: 'x', body: { to: 'y', file: 5 } });
client.messages.sendImage({ instanceId: 'x', body: { to: 'y', file: new Date() } });
client.messages.waitFor({ instanceId: 'x', messageId: 'y' }, 'failed');
for await (const event of client.events.stream({ types: ['message.delivered'] })) event.data.content;
createClient({ baseUrl: 'x', logger: 'debug' });
`;

  test('has types that refuse bodies that the service would refuse', async () => {
    const { lines, found } = await faultsIn('wrong.mts');
    assert.deepEqual(lines, [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13], found);
  });

  test('names bodies, resources, patterns and headers, and takes exactly one source of media', async () => {
    for (const file of ['named.mts', 'named.cts']) assert.equal((await faultsIn(file)).found, '');
    const { lines, found } = await faultsIn('unnamed.mts');
    const last = WRONG_TYPES.trimEnd().split('\n').length;
    assert.deepEqual(
      lines,
      Array.from({ length: last - 3 }, (_, at) => at + 4),
      found,
    );
  });

  test('shows an example on each of the methods that programs begin with, and it compiles', async () => {
    const { count } = programOfExamples(installedTypes());
    assert.ok(count >= 12, `${count} examples`);
    assert.equal((await faultsIn('examples.mts')).found, '');
  });

  test('has a name for every body and every resource of the contract', () => {
    const listed = /export type \{ (.*) \};\s*$/.exec(installedTypes().trim())?.[1] ?? '';
    const exported = new Set(listed.split(', ').map((each) => each.split(' as ').at(-1)));
    const missing = idsOfContract().filter((name) => !exported.has(name) && !UNNAMED.has(name));
    assert.deepEqual(missing, []);
    assert.deepEqual(
      [...UNNAMED].filter((name) => exported.has(name)),
      [],
      'named by now',
    );
  });

  test('type-checks for a bundler too', async () => {
    const modules = ['--module', 'esnext', '--moduleResolution', 'bundler'];
    assert.equal(await compile({ 'bundled.ts': TYPED }, modules), '');
  });

  test('is found clean by attw and publint', async () => {
    const bin = (name: string) => path.join(projectRoot, 'node_modules/.bin', name);
    const root = path.join(folder, 'node_modules/@posthorn/sdk');
    const packed = path.join(folder, 'packed', readdirSync(path.join(folder, 'packed'))[0] as string);
    await run(bin('attw'), [packed], { cwd: folder, env });
    const { stdout } = await run(bin('publint'), ['run', root, '--pack', 'false', '--strict'], { env });
    assert.match(stdout, /All good/);
  });

  /** A program in one file, as a page loads it. */
  async function bundle(source: string): Promise<string> {
    writeFileSync(path.join(folder, 'page.js'), source);
    const { outputFiles } = await build({
      entryPoints: [path.join(folder, 'page.js')],
      bundle: true,
      minify: true,
      format: 'iife',
      platform: 'browser',
      target: 'es2022',
      write: false,
    });
    return (outputFiles[0] as { text: string }).text;
  }

  test('takes at most 14 kB of a page, gzipped', async () => {
    const text = await bundle(
      "import { createClient, PosthornError } from '@posthorn/sdk'; globalThis.x = [createClient, PosthornError];",
    );
    const sizeBytes = gzipSync(text, { level: 9 }).length;
    tellFigure('the SDK in a page, gzipped', sizeBytes, { atMost: 14_000 }, 'bytes');
    assert.ok(sizeBytes <= 14_000, `${sizeBytes} bytes`);
  });

  test('works in a realm with the globals of Workers, and none of Node', async () => {
    const text = await bundle(`
      import { createClient, verifyWebhook } from '@posthorn/sdk';
      const client = createClient({ baseUrl: BASE_URL, apiKey: 'svc_w' });
      const body = { to: '+5511999990000', file: new Uint8Array([104, 105]) };
      globalThis.done = Promise.all([
        client.health.health().then(({ service }) => service),
        client.messages.sendImage({ instanceId: 'i', body }).then(({ service }) => service),
        verifyWebhook('{}', {}, 'whsec_AAAA').catch(({ code }) => code),
      ]);
    `);
    const realm = createContext({
      ...{
        AbortController,
        Blob,
        FormData,
        Headers,
        ReadableStream,
        Request,
        Response,
        TransformStream,
        URL,
      },
      ...{
        URLSearchParams,
        TextDecoder,
        TextEncoder,
        atob,
        clearTimeout,
        setTimeout,
        crypto,
        fetch,
        performance,
      },
      BASE_URL: server.url,
    });
    runInContext(text, realm);
    assert.deepEqual([...(await (realm.done as Promise<string[]>))], ['svc_w', 'svc_w', 'MISSING_HEADER']);
  });

  describe('in a browser', () => {
    let system: Standalone;
    before(async () => {
      system = await startStandalone();
    });
    after(() => system?.stop());

    test('lists, sends, streams and uploads with the default fetch', async () => {
      const script = await bundle(BROWSER);
      let tell: (told: unknown) => void = () => undefined;
      const told = new Promise<unknown>((resolve) => {
        tell = resolve;
      });
      const site = await startHttp((res, { url, body }) => {
        if (url === '/told') tell(JSON.parse(body));
        const page = `<script>const BASE_URL = '${system.url}';</script><script>${script}</script>`;
        res.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html>${page}`);
      });
      const page = await openPage(site.url);
      try {
        assert.deepEqual(await told, {
          names: ['sales'],
          event: 'message.sent',
          reached: true,
          mime: 'application/pdf',
          uploadedBytes: 200_000,
          progress: true,
          refused: 'NotFoundError',
          agent: false,
        });
      } finally {
        await page.close();
        await site.close();
      }
    });
  });
});

/** Bodies by the id of their schema, `SendTextRequest` as `SendTextBody`, and answers. */
function idsOfContract(): string[] {
  const routes = [...listRoutes(messagingContract), ...listRoutes(billingContract)].filter(
    ({ name, route }) =>
      metaOf(route).access !== 'superadmin' && !/^(simulator|providerWebhook|health)\./.test(name),
  );
  return routes.flatMap(({ route }) => {
    const success = Object.entries(route.responses).find(([status]) => status.startsWith('2'))?.[1];
    const schemas = [success, 'body' in route ? route.body : undefined] as z.ZodType[];
    return schemas
      .flatMap((schema) => schema?.meta?.()?.id ?? [])
      .map((id) => id.replace(/Request$/, 'Body'));
  });
}

/** Lists, whose items have names, and answers that only confirm success; and three with older names. */
const UNNAMED: ReadonlySet<string> = new Set([
  // Only for Meta.
  ...['CloudWebhook', 'CloudWebhookReceived'],
  ...[
    'UserList',
    'TokenList',
    'AuditLog',
    'InstanceList',
    'MessageList',
    'ScheduledList',
    'StatusFeed',
    'Queue',
  ],
  ...[
    'ChatList',
    'ContactList',
    'LabelList',
    'LabelChats',
    'ChatNoteList',
    'Groups',
    'WebhookList',
    'PlanList',
  ],
  ...[
    'DeliveryLogList',
    'EventDeliveries',
    'DeliveredEventList',
    'WebhookMetricsList',
    'CompanyDeliveryLogList',
  ],
  ...['LatestDeliveryLogList', 'AddonList', 'CardList', 'ChargeList', 'OpenApiDocument', 'Health'],
  ...[
    'Acknowledged',
    'CodeSent',
    'ReloginRequired',
    'EmailChangeStarted',
    'QueueCount',
    'Cancelled',
    'QueueCleared',
  ],
  ...['FeedbackGiven', 'PlanChange', 'Event'],
  // InstanceMetrics, UsageCounts, UpdateSettingsBody.
  ...['InstanceWebhookMetrics', 'Usage', 'UpdateInstanceSettingsBody'],
]);

/** The program of the page; it posts its results to the site that it was loaded from. */
const BROWSER = `
import { createClient, iterate, NotFoundError } from '@posthorn/sdk';
async function use() {
  const { api_key: apiKey } = await createClient({ baseUrl: BASE_URL }).auth.quickRegister({
    body: { email: 'page@example.com' },
  });
  const client = createClient({ baseUrl: BASE_URL, apiKey });
  const { id: instanceId } = await client.instances.create({ body: { name: 'sales' } });
  await client.instances.updateSettings({ instanceId, body: { humanize_enabled: false } });
  await client.instances.connect({ instanceId });
  while ((await client.instances.get({ instanceId })).state !== 'CONNECTED') {
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  const names = [];
  for await (const { name } of iterate(client.instances.list)) names.push(name);
  let opened;
  const open = new Promise((resolve) => { opened = resolve; });
  const first = (async () => {
    for await (const event of client.events.stream({ types: ['message.sent'], onOpen: opened })) return event.type;
  })();
  await open;
  const sent = await client.messages.sendText({ instanceId, body: { to: '+5511999990000', text: 'hi' } });
  const message = await client.messages.waitFor({ instanceId, messageId: sent.message_id }, 'sent');
  const file = new Blob(['%PDF-1.4\\n', new Uint8Array(200000 - 9)]);
  const seen = [];
  const uploaded = await client.media.upload(
    { instanceId, body: { file } },
    { onUploadProgress: ({ sentBytes, totalBytes }) => seen.push(sentBytes / totalBytes) },
  );
  const refused = await client.instances
    .get({ instanceId: '00000000-0000-4000-8000-000000000000' })
    .catch((error) => error instanceof NotFoundError && error.name);
  return {
    names,
    event: await first,
    reached: message.sent_at !== null,
    mime: uploaded.mime_type,
    uploadedBytes: uploaded.file_size,
    progress: seen.at(-1) === 1,
    refused,
    agent: 'process' in globalThis,
  };
}
use()
  .catch((error) => ({ error: String(error.stack ?? error) }))
  .then((told) => fetch('/told', { method: 'POST', body: JSON.stringify(told) }));
`;
