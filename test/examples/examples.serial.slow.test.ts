import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { type Client, createClient } from '@posthorn/sdk/index.ts';
import sdkManifest from '@posthorn/sdk/package.json' with { type: 'json' };
import { type Standalone, startStandalone } from '../cli/start-standalone.ts';
import { type Fault, startFaultyServer } from '../sdk/faulty-server.ts';
import { freePort, projectRoot, waitFor } from '../support/process.ts';
import { ensurePython } from '../support/python-install.ts';
import { watchPage } from '../support/watched-page.ts';
import { copyExample, type Example } from './run-example.ts';

const read = (file: string) => readFileSync(path.join(projectRoot, 'examples', file), 'utf8');

interface Ledger {
  entries: { times_seen: number }[];
}

const faults = (count: number, fault: Fault) => Array<Fault>(count).fill(fault);

/** Each runs as in the hands of a user who copied its folder; alone, because the SDK is built for it. */
describe('the examples', { timeout: 500_000 }, () => {
  let system: Standalone;
  let client: Client;
  let sandbox: Client;
  let instanceId: string;
  let ownPhone: string;
  let env: Record<string, string>;
  const copies: Example[] = [];
  const copy = (name: string) => {
    const example = copyExample(name);
    copies.push(example);
    return example;
  };

  before(async () => {
    ensurePython();
    system = await startStandalone({ RATE_LIMIT_PER_MINUTE: '6000' });
    const baseUrl = system.url;
    const { api_key: apiKey } = await createClient({ baseUrl }).auth.quickRegister({
      body: { email: 'a@example.com' },
    });
    client = createClient({ baseUrl, apiKey });
    sandbox = createClient({ baseUrl: system.sandboxUrl });
    ({ id: instanceId } = await client.instances.create({ body: { name: 'sales' } }));
    await client.instances.updateSettings({ instanceId, body: { humanize_enabled: false } });
    await client.instances.connect({ instanceId });
    ownPhone = await waitFor(
      async () => {
        const { state, phone } = await client.instances.get({ instanceId });
        return state === 'CONNECTED' && phone;
      },
      30_000,
      { everyMs: 300 },
    );
    env = { POSTHORN_URL: baseUrl, POSTHORN_API_KEY: apiKey, POSTHORN_INSTANCE: instanceId };
  });
  afterEach(() => {
    for (const example of copies.splice(0)) example.remove();
  });
  after(() => system?.stop());

  /** How many messages each number got, by the network's own ledger. */
  async function sendsTo(phones: readonly string[]): Promise<number[]> {
    return Promise.all(
      phones.map(async (to) => {
        const { entries } = await sandbox.request<Ledger>({ path: '/ledger', query: { to } });
        return entries.reduce((sum, { times_seen }) => sum + times_seen, 0);
      }),
    );
  }

  const reaches = (state: string) =>
    waitFor(async () => (await client.instances.get({ instanceId })).state === state, 30_000, {
      everyMs: 200,
    });

  const write = (from: string, text: string) =>
    sandbox.request({
      method: 'POST',
      path: `/phones/${from}/messages`,
      body: { to: ownPhone, text, type: 'text' },
    });

  /** The texts that a virtual phone got from the instance. */
  async function textsOf(phone: string): Promise<string[]> {
    const { messages } = await sandbox.request<{ messages: { from: string; text: string }[] }>({
      path: `/phones/${phone}/messages`,
    });
    return messages.filter(({ from }) => from.startsWith(ownPhone)).map(({ text }) => text);
  }

  test('send-and-wait waits for the delivery, and prints why a send was refused', async () => {
    const example = copy('send-and-wait');
    const sending = example.start(['node', 'send.js', '5511988880001', 'Hello', 'order-1001'], env);
    assert.equal(await sending.ended, 0, sending.output());
    assert.match(sending.output(), /^accepted (\S+)\n(delivered|read) \1\n$/);
    const again = example.start(['node', 'send.js', '5511988880001', 'Hello', 'order-1001'], env);
    assert.equal(await again.ended, 0, again.output());
    assert.deepEqual(await sendsTo(['5511988880001']), [1]);
    const refused = example.start(['node', 'send.js', 'nobody', 'Hello'], env);
    assert.equal(await refused.ended, 1);
    assert.match(refused.output(), /^refused: INVALID_PHONE: .* \(trace \S+\)\n$/);
  });

  test('send-and-wait names the key to try again with when nobody knows whether it was accepted', async (t) => {
    const example = copy('send-and-wait');
    const faulty = await startFaultyServer(system.url);
    t.after(() => faulty.close());
    faulty.plan.push(...faults(9, '503 after'));
    const command = ['node', 'send.js', '5511988880017', 'Hello', 'order-1002'];
    const unknown = example.start(command, { ...env, POSTHORN_URL: faulty.url });
    assert.equal(await unknown.ended, 1);
    assert.match(unknown.output(), /^[A-Z_]+; try again with the key order-1002\n$/);
    const again = example.start(command, env);
    assert.equal(await again.ended, 0, again.output());
    assert.deepEqual(await sendsTo(['5511988880017']), [1]);
  });

  test('webhook-receiver accepts signed webhooks, refuses others, and handles a repeat once', async () => {
    const example = copy('webhook-receiver');
    const port = String(await freePort());
    const url = `http://127.0.0.1:${port}/hooks`;
    const webhook = await client.webhooks.create({ body: { url, events: ['message.received'] } });
    const receiver = example.start(['node', 'receiver.js'], { PORT: port, WEBHOOK_SECRET: webhook.secret });
    await receiver.shows(/listening on/);
    await write('5511988880002', 'Good morning');
    await receiver.shows(/received from 5511988880002: .*Good morning/);
    const forged = await fetch(url, {
      method: 'POST',
      body: '{}',
      headers: {
        'webhook-id': 'x',
        'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
        'webhook-signature': 'v1,AAAA',
      },
    });
    assert.equal(forged.status, 400);
    await receiver.shows(/refused a delivery: SIGNATURE_MISMATCH/);
    const attempts = (count: number) =>
      waitFor(
        async () => {
          const { data } = await client.webhooks.logs({ webhookId: webhook.id });
          return data.length === count && data;
        },
        60_000,
        { everyMs: 200 },
      );
    const [first] = await attempts(1);
    await client.webhooks.retryLog({ webhookId: webhook.id, logId: first!.id });
    const again = await attempts(2);
    assert.deepEqual(
      again.map(({ success }) => success),
      [true, true],
    );
    assert.equal(receiver.output().match(/Good morning/g)?.length, 1);
    await client.webhooks.remove({ webhookId: webhook.id });
  });

  test('live-tail shows events in a browser, with texts as texts', async () => {
    const example = copy('live-tail');
    const port = String(await freePort());
    const site = example.start(['node', 'serve.js'], { PORT: port });
    const [, url = ''] = await site.shows(/open (\S+)/);
    const page = await watchPage(url);
    try {
      await waitFor(() => page.evaluate(`document.readyState === 'complete'`), 60_000);
      await page.evaluate(
        `document.getElementById('url').value = '${system.url}';
         document.getElementById('key').value = '${env.POSTHORN_API_KEY}';
         document.querySelector('form').requestSubmit();`,
      );
      const text = (id: string) => page.evaluate(`document.getElementById('${id}').textContent`);
      await waitFor(async () => (await text('state')) === 'connected', 60_000);
      await write('5511988880003', '<img src=x onerror=alert(1)>');
      const shown = await waitFor(async () => {
        const rows = String(await text('events'));
        return rows.includes('message.received') && rows;
      }, 60_000);
      assert.match(shown, /5511988880003<img src=x onerror=alert\(1\)>/);
      assert.equal(await page.evaluate(`document.querySelectorAll('img').length`), 0);
      assert.deepEqual(page.errors, []);
    } finally {
      await page.close();
    }
    assert.equal((await fetch(`${url}package.json`)).status, 404);
  });

  test('inbox-bot answers, and after a kill continues where it was and answers nothing twice', async () => {
    const example = copy('inbox-bot');
    const command = ['node', 'bot.js'];
    const bot = example.start(command, env);
    await bot.shows(/listening/);
    await write('5511988880004', 'hours');
    await bot.shows(/answered 5511988880004/);
    await waitFor(() => existsSync(path.join(example.folder, 'cursor.txt')));
    const cursor = readFileSync(path.join(example.folder, 'cursor.txt'), 'utf8');
    await write('5511988880005', 'Hi');
    await bot.shows(/answered 5511988880005/);
    await bot.kill();
    await write('5511988880006', 'Anybody there?');
    // As if it had died after an answer and before it stored its place.
    writeFileSync(path.join(example.folder, 'cursor.txt'), cursor);
    const second = example.start(command, env);
    await second.shows(/answered 5511988880006/);
    await second.kill('SIGINT');
    assert.equal(await second.ended, 0, second.output());
    const phones = ['5511988880004', '5511988880005', '5511988880006'];
    await waitFor(async () => (await sendsTo(phones)).every((count) => count > 0), 60_000);
    assert.deepEqual(await sendsTo(phones), [1, 1, 1]);
    assert.deepEqual(await textsOf('5511988880004'), ['We are open from 9:00 to 18:00, Monday to Friday.']);
  });

  test('inbox-bot answers what came after its first run, in which it had nothing to answer', async () => {
    const example = copy('inbox-bot');
    const command = ['node', 'bot.js'];
    const first = example.start(command, env);
    await first.shows(/listening/);
    await first.kill();
    await write('5511988880019', 'Anybody there?');
    await example.start(command, env).shows(/answered 5511988880019/);
  });

  test('inbox-bot stops where it is refused for the moment, and answers when it is started again', async (t) => {
    const example = copy('inbox-bot');
    const faulty = await startFaultyServer(system.url);
    t.after(() => faulty.close());
    const start = () => example.start(['node', 'bot.js'], { ...env, POSTHORN_URL: faulty.url });
    const bot = start();
    await bot.shows(/listening/);
    await write('5511988880014', 'Hi');
    await bot.shows(/answered 5511988880014/);
    await waitFor(() => existsSync(path.join(example.folder, 'cursor.txt')));
    faulty.plan.push(...faults(3, '429'));
    await write('5511988880015', 'And I?');
    assert.equal(await bot.ended, 1, bot.output());
    await start().shows(/answered 5511988880015/);
  });

  test('inbox-bot stops while the instance is away, and answers when it is started again', async () => {
    const example = copy('inbox-bot');
    const command = ['node', 'bot.js'];
    const bot = example.start(command, env);
    await bot.shows(/listening/);
    await write('5511988880016', 'Hi');
    await bot.shows(/answered 5511988880016/);
    await waitFor(() => existsSync(path.join(example.folder, 'cursor.txt')));
    await bot.kill();
    await write('5511988880017', 'And I?');
    await waitFor(
      async () => {
        const { data } = await client.events.list({ query: { types: ['message.received'], limit: 1 } });
        return data[0]?.type === 'message.received' && data[0].data.phone === '5511988880017';
      },
      30_000,
      { everyMs: 200 },
    );
    await client.instances.disconnect({ instanceId });
    await reaches('DISCONNECTED');
    const early = example.start(command, env);
    await early.shows(/INSTANCE_NOT_CONNECTED/);
    await early.kill('SIGINT');
    await client.instances.connect({ instanceId });
    await reaches('CONNECTED');
    await example.start(command, env).shows(/answered 5511988880017/);
  });

  test('bulk-send sends each row once, however often it is killed and run again', async (t) => {
    const example = copy('bulk-send');
    const phones = Array.from({ length: 60 }, (_, at) => `55219777700${String(at).padStart(2, '0')}`);
    const rows = phones.map((to, at) => `${to},"Hello, ""${at}"" is\nyour number"`);
    writeFileSync(path.join(example.folder, 'many.csv'), `\ufeffto,text\r\n${rows.join('\r\n')}\r\n`);
    const command = ['node', 'bulk.js', 'many.csv', 'report.csv', 'may'];
    const report = path.join(example.folder, 'report.csv');
    const lines = () => (existsSync(report) ? readFileSync(report, 'utf8').split('\n').length - 1 : 0);
    const faulty = await startFaultyServer(system.url);
    t.after(() => faulty.close());
    for (const [from, killAfter] of [
      [0, 5],
      [5, 20],
    ] as const) {
      // The row after these is sent, but every answer to it is lost, however often it is tried.
      faulty.plan.splice(
        0,
        Number.POSITIVE_INFINITY,
        ...faults(killAfter - from, 'none'),
        ...faults(9, 'hang'),
      );
      const killed = example.start(command, { ...env, POSTHORN_URL: faulty.url });
      await waitFor(async () => (await sendsTo([phones[killAfter]!]))[0] === 1, 60_000, { everyMs: 200 });
      await killed.kill();
      assert.equal(lines(), killAfter + 1, 'it was killed before its end');
    }
    const last = example.start(command, env);
    assert.equal(await last.ended, 0, last.output());
    const [, accepted, skipped] = /(\d+) accepted, 0 refused, (\d+) sent before/.exec(last.output()) ?? [];
    assert.deepEqual([accepted, skipped], ['40', '20'], last.output());
    assert.equal(lines(), 61);
    await waitFor(async () => (await sendsTo(phones)).every((count) => count > 0), 60_000, { everyMs: 500 });
    // Without its report it knows nothing of earlier runs; the service still does.
    rmSync(report);
    const forgetful = example.start(command, env);
    assert.equal(await forgetful.ended, 0, forgetful.output());
    assert.match(forgetful.output(), /60 accepted, 0 refused, 0 sent before/);
    assert.deepEqual(new Set(await sendsTo(phones)), new Set([1]));
    assert.deepEqual(await textsOf('5521977770007'), ['Hello, "7" is\nyour number']);
  });

  test('bulk-send reports refused rows, and continues', async () => {
    const example = copy('bulk-send');
    writeFileSync(path.join(example.folder, 'two.csv'), 'to,text\nnobody,Hello\n5521977771000,Hello\n');
    const run = example.start(['node', 'bulk.js', 'two.csv', 'report.csv', 'june'], env);
    assert.equal(await run.ended, 1, run.output());
    assert.match(run.output(), /1 accepted, 1 refused, 0 sent before/);
    const [, refused, accepted] = readFileSync(path.join(example.folder, 'report.csv'), 'utf8').split('\n');
    assert.equal(refused, 'nobody,refused,,INVALID_PHONE');
    assert.match(accepted ?? '', /^5521977771000,accepted,\S+,$/);
  });

  test('bulk-send stops while the instance is away, and sends every row when it is run again', async () => {
    const example = copy('bulk-send');
    const phones = ['5521977772000', '5521977772001'];
    writeFileSync(
      path.join(example.folder, 'two.csv'),
      `to,text\n${phones.map((to) => `${to},Hello`).join('\n')}\n`,
    );
    const command = ['node', 'bulk.js', 'two.csv', 'report.csv', 'july'];
    await client.instances.disconnect({ instanceId });
    await reaches('DISCONNECTED');
    const early = example.start(command, env);
    assert.equal(await early.ended, 1);
    assert.match(early.output(), /INSTANCE_NOT_CONNECTED/);
    assert.equal(
      readFileSync(path.join(example.folder, 'report.csv'), 'utf8'),
      'to,status,message_id,reason\n',
    );
    await client.instances.connect({ instanceId });
    await reaches('CONNECTED');
    const later = example.start(command, env);
    assert.equal(await later.ended, 0, later.output());
    assert.match(later.output(), /2 accepted, 0 refused, 0 sent before/);
  });

  test('python offers every operation of the document, sends a text and waits for it', async () => {
    const example = copy('python');
    const listing = example.start(['python3', 'posthorn.py'], env);
    assert.equal(await listing.ended, 0, listing.output());
    const document = JSON.parse(readFileSync(path.join(projectRoot, 'openapi/messaging.json'), 'utf8'));
    const ids = Object.values<Record<string, { operationId: string }>>(document.paths)
      .flatMap((methods) => Object.values(methods))
      .map(({ operationId }) => operationId);
    const listed = listing.output().trim().split('\n');
    assert.deepEqual(listed.map((line) => line.split(' ')[0]).sort(), ids.sort());
    assert.ok(listed.includes('messages.sendText instanceId Idempotency-Key X-Force-Send'), listing.output());
    const sending = example.start(['python3', 'send_and_wait.py', '5511988880007', 'Hello'], env);
    assert.equal(await sending.ended, 0, sending.output());
    assert.match(sending.output(), /^accepted (\S+)\n(delivered|read) \1\n$/);
    assert.deepEqual(await sendsTo(['5511988880007']), [1]);
    const refused = example.start(['python3', 'send_and_wait.py', 'nobody', 'Hello'], env);
    assert.equal(await refused.ended, 1);
    assert.match(refused.output(), /^refused: INVALID_PHONE: /);
  });

  test('are listed in the index, and ask for the SDK of this repository', () => {
    const folders = readdirSync(path.join(projectRoot, 'examples'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
    for (const folder of folders) assert.ok(read('README.md').includes(`[${folder}](${folder}/`), folder);
    const [major, minor] = sdkManifest.version.split('.');
    for (const file of globSync('examples/*/package.json', { cwd: projectRoot })) {
      const { dependencies } = JSON.parse(readFileSync(path.join(projectRoot, file), 'utf8'));
      assert.match(dependencies['@posthorn/sdk'], new RegExp(`^\\^${major}\\.${minor}\\.`), file);
    }
  });
});
