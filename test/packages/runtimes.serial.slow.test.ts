import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { createClient } from '@posthorn/sdk/index.ts';
import { type Standalone, startStandalone } from '../cli/start-standalone.ts';
import { baseEnv, projectRoot, waitFor } from '../support/process.ts';
import { ensureRuntimes, type Runtimes } from '../support/runtimes-install.ts';
import { openTerminal } from '../support/tmux.ts';

const run = promisify(execFile);
const env = { ...baseEnv(), PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}` };
const FILE = '%PDF-1.4\nfrom a path';
const UPLOADED_BYTES = 200_000;

/** A program that uses the SDK on any runtime, and prints its results as one line of JSON. */
const PROGRAM = `
import { createRequire } from 'node:module';
import { createClient, iterate, NotFoundError, PosthornError, verifyWebhook } from '@posthorn/sdk';

const [baseUrl, apiKey, instanceId, path, to, text] = process.argv.slice(2);
const client = createClient({ baseUrl, apiKey });
const names = [];
for await (const { name } of iterate(client.instances.list)) names.push(name);

let opened;
const open = new Promise((resolve) => { opened = resolve; });
const first = (async () => {
  const events = client.events.stream({ instanceId, types: ['message.sent'], onOpen: opened });
  for await (const event of events) return event;
})();
await open;
const sent = await client.messages.sendText({ instanceId, body: { to, text } });
const message = await client.messages.waitFor({ instanceId, messageId: sent.message_id }, 'delivered');
const event = await first;

const seen = [];
const bytes = new Uint8Array(${UPLOADED_BYTES}).fill(32);
bytes.set(new TextEncoder().encode('%PDF-1.4\\n'));
const uploaded = await client.media.upload(
  { instanceId, body: { file: bytes } },
  { onUploadProgress: ({ sentBytes, totalBytes }) => seen.push(sentBytes / totalBytes) },
);
const fromPath = await client.media.upload({ instanceId, body: { file: path } });
const stored = await client.media.download({ instanceId, mediaId: uploaded.media_id });
const downloaded = new Uint8Array(await stored.arrayBuffer());

const { PosthornError: Other } = createRequire(import.meta.url)('@posthorn/sdk');
const refused = await client.instances
  .get({ instanceId: '00000000-0000-4000-8000-000000000000' })
  .catch((error) => error);
const unreachable = await createClient({ baseUrl: 'http://127.0.0.1:1', retries: 0 })
  .health.health()
  .catch((error) => error);
console.log(JSON.stringify({
  names,
  isDelivered: message.delivered_at !== null,
  isOfTheSend: event.data.message_ids.includes(sent.message_id),
  uploadedBytes: uploaded.file_size,
  progress: seen.at(-1),
  pathBytes: fromPath.file_size,
  isDownloaded: downloaded.length === bytes.length && downloaded.every((byte, at) => byte === bytes[at]),
  refused: [refused.name, refused.code, refused.status, refused instanceof NotFoundError],
  isOfBothModules: refused instanceof PosthornError && refused instanceof Other && PosthornError !== Other,
  unreachable: [unreachable.code, unreachable instanceof PosthornError],
  webhook: await verifyWebhook('{}', {}, 'whsec_AAAA').catch(({ code }) => code),
}));
process.exit();
`;

/** By the name that people know; `to` is its recipient, and `flags` come before the program on its command line. */
const RUNTIMES: Record<string, { program: keyof Runtimes; to: string; flags: string[] }> = {
  'Node.js 20': { program: 'node20', to: '+5511999990020', flags: [] },
  'Node.js 22': { program: 'node22', to: '+5511999990022', flags: [] },
  Bun: { program: 'bun', to: '+5511999990030', flags: ['run'] },
  Deno: {
    program: 'deno',
    to: '+5511999990040',
    // Only the permissions that the program needs: the service, and the file.
    flags: ['run', '--no-prompt', '--node-modules-dir=manual', '--allow-net=127.0.0.1', '--allow-read'],
  },
};

describe('the packed SDK and msgctl', { timeout: 500_000 }, () => {
  let folder: string;
  let runtimes: Runtimes;
  let system: Standalone;
  let apiKey: string;
  let instanceId: string;

  before(async () => {
    runtimes = ensureRuntimes();
    folder = mkdtempSync(path.join(tmpdir(), 'posthorn-runtimes-'));
    const packed = path.join(folder, 'packed');
    mkdirSync(packed);
    // Builds the SDK as well, which it bundles.
    await run(process.execPath, ['cli/build.ts'], { cwd: projectRoot, env });
    await run('npm', ['pack', './sdk/dist', './cli/dist', '--pack-destination', packed], {
      cwd: projectRoot,
      env,
    });
    writeFileSync(path.join(folder, 'package.json'), '{"name":"user","private":true}');
    writeFileSync(path.join(folder, 'use.mjs'), PROGRAM);
    writeFileSync(path.join(folder, 'sent.pdf'), FILE);
    const files = readdirSync(packed).map((file) => path.join(packed, file));
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', ...files], { cwd: folder, env });

    system = await startStandalone();
    const baseUrl = system.url;
    apiKey = (await createClient({ baseUrl }).auth.quickRegister({ body: { email: 'any@example.com' } }))
      .api_key;
    const client = createClient({ baseUrl, apiKey });
    instanceId = (await client.instances.create({ body: { name: 'sales' } })).id;
    await client.instances.updateSettings({ instanceId, body: { humanize_enabled: false } });
    await client.instances.connect({ instanceId });
    await waitFor(async () => (await client.instances.get({ instanceId })).state === 'CONNECTED', 30_000, {
      everyMs: 300,
    });
  });
  after(async () => {
    await system?.stop();
    if (folder) rmSync(folder, { recursive: true });
  });

  for (const [name, { program, to, flags }] of Object.entries(RUNTIMES))
    test(`the SDK lists, sends, waits, streams, uploads and distinguishes errors on ${name}`, async () => {
      const given = [system.url, apiKey, instanceId, path.join(folder, 'sent.pdf'), to, `from ${name}`];
      const { stdout } = await run(runtimes[program], [...flags, 'use.mjs', ...given], {
        cwd: folder,
        env: { ...env, HOME: folder, DENO_DIR: path.join(folder, 'deno'), DENO_NO_UPDATE_CHECK: '1' },
        timeout: 120_000,
      });
      assert.deepEqual(JSON.parse(stdout), {
        names: ['sales'],
        isDelivered: true,
        isOfTheSend: true,
        uploadedBytes: UPLOADED_BYTES,
        progress: 1,
        pathBytes: FILE.length,
        isDownloaded: true,
        refused: ['NotFoundError', 'INSTANCE_NOT_FOUND', 404, true],
        isOfBothModules: true,
        unreachable: ['NETWORK', true],
        webhook: 'MISSING_HEADER',
      });
    });

  for (const [name, node] of [
    ['Node.js 20', 'node20'],
    ['Node.js 22', 'node22'],
  ] as const) {
    const msgctl = () => path.join(folder, 'node_modules/@posthorn/cli/msgctl.js');
    const keys = () => ({ HOME: folder, POSTHORN_URL: system.url, POSTHORN_API_KEY: apiKey });

    test(`msgctl prints its version and sends on ${name}`, async () => {
      const options = { cwd: folder, env: { ...env, ...keys() } };
      const call = async (...args: string[]) =>
        (await run(runtimes[node], [msgctl(), ...args], options)).stdout;
      const { version } = JSON.parse(readFileSync(path.join(path.dirname(msgctl()), 'package.json'), 'utf8'));
      assert.equal(await call('--version'), `${version}\n`);
      const send = [
        'send',
        'text',
        '--to',
        '5511999990001',
        '--text',
        `from ${name}`,
        '--wait',
        'delivered',
        '--json',
      ];
      const sent = JSON.parse(await call(...send));
      assert.ok(sent.message_id, JSON.stringify(sent));
    });

    test(`msgctl draws its views on ${name}`, async (t) => {
      const terminal = await openTerminal({ cwd: folder, env: keys() });
      t.after(() => terminal.close());
      terminal.enter(`clear; ${runtimes[node]} ${msgctl()} instances watch; echo code=$?`);
      await terminal.shows(/Instances \(1\)/);
      terminal.press('C-c');
      await terminal.shows(/^code=0/m);
    });
  }
});
