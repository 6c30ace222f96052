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
import { baseEnv, projectRoot } from '../support/process.ts';
import { type HttpServer, json, startHttp } from './http-server.ts';

const run = promisify(execFile);
/** Scripts of npm run under the Node of this test, not under whatever is first on PATH. */
const env = { ...baseEnv(), PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}` };

describe('the published package', { timeout: 180_000 }, () => {
  let folder: string;
  let server: HttpServer;

  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'posthorn-sdk-'));
    const packed = path.join(folder, 'packed');
    mkdirSync(packed);
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
    for (const file of ['index.js.map', 'index.cjs.map']) {
      const map = JSON.parse(readFileSync(path.join(root, file), 'utf8'));
      assert.equal(map.sourcesContent.length, map.sources.length);
    }
  });

  test('describes the fields of what is sent and received', () => {
    const types = readFileSync(path.join(folder, 'node_modules/@posthorn/sdk/index.d.ts'), 'utf8');
    assert.match(types, /\/\*\* A phone number, an individual JID or a group JID \*\/\n\s*to: string;/);
    assert.match(types, /\/\*\* The instance, by its UUID. \*\/\n\s*instanceId: string \| number;/);
  });

  /** Compiles a strict consumer that sees the package's types and Node's, nothing else. */
  async function compile(file: string, source: string): Promise<string> {
    const types = path.join(folder, 'node_modules/@types');
    mkdirSync(types, { recursive: true });
    for (const name of ['@types/node', 'undici-types']) {
      const at = path.join(folder, 'node_modules', name);
      rmSync(at, { force: true });
      symlinkSync(path.join(projectRoot, 'node_modules', name), at);
    }
    writeFileSync(path.join(folder, file), source);
    const flags = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false'];
    const target = ['--target', 'es2022', '--module', 'nodenext', '--types', 'node'];
    const tsc = path.join(projectRoot, 'node_modules/typescript/bin/tsc');
    return run(process.execPath, [tsc, ...flags, ...target, '--ignoreConfig', file], {
      cwd: folder,
      env,
    }).then(
      () => '',
      (error: { stdout: string }) => error.stdout,
    );
  }

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
    assert.equal(await compile('consumer.mts', TYPED), '');
    assert.equal(await compile('consumer.cts', TYPED), '');
  });

  test('refuses in types what the service would refuse', async () => {
    const found = await compile(
      'wrong.mts',
      `import { createClient } from '@posthorn/sdk';
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
for await (const event of client.events.stream({ types: ['message.sent'] })) event.data.content;
createClient({ baseUrl: 'x', logger: 'debug' });
`,
    );
    const lines = [...found.matchAll(/^wrong\.mts\((\d+),/gm)].map((match) => Number(match[1]));
    assert.deepEqual([...new Set(lines)], [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13], found);
  });
});
