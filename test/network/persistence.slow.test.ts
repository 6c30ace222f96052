import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { SendRefused } from '@posthorn/core/network/driver.ts';
import { createSandboxServer } from '@posthorn/network/sandbox/server.ts';
import { freePort } from '../support/process.ts';
import {
  controlOf,
  jid,
  openInstance,
  pairInstance,
  startSandbox,
  temporaryFolder,
  until,
} from './sandbox-harness.ts';

const OURS = '5511988880001';
const THEIRS = '5511977770001';
const MAIN = new URL('../../network/sandbox/main.ts', import.meta.url).pathname;

test('accounts, ledger, screens and undelivered messages survive a restart', async (t) => {
  const dataDir = await temporaryFolder(t);
  const before = await startSandbox(t, { dataDir });
  await before.post('/defaults', { auto_read: false });
  await before.post('/phones', { phone: '5511977770002', name: 'Offline', online: false });
  const instance = await pairInstance(t, before, OURS, { epoch: 4 });
  const shown = await instance.sendText(THEIRS, 'shown');
  await instance.sendText(THEIRS, 'shown', shown);
  const waiting = await instance.sendText('5511977770002', 'waiting');
  await before.post('/faults', { kind: 'refuse', times: 1 });
  await assert.rejects(instance.sendText(THEIRS, 'refused'), SendRefused);
  await until(() => instance.receipts.length === 1);
  await instance.session.close();
  const inbound = await before.post(`/phones/${THEIRS}/messages`, { to: OURS, text: 'meanwhile' });
  await before.post(`/phones/${THEIRS}/read`, { ids: [shown] });
  const paths = [
    '/ledger',
    '/ledger/summary',
    `/phones/${THEIRS}/messages`,
    `/phones/${THEIRS}`,
    '/phones/5511977770002',
  ];
  const told = await Promise.all(paths.map((path) => before.get(path)));
  await before.close();

  const after = await startSandbox(t, { dataDir });
  assert.deepEqual(await Promise.all(paths.map((path) => after.get(path))), told);
  const stale = await openInstance(t, after.url, { credentials: instance.identity!.credentials, epoch: 3 });
  await until(() => stale.ended.length > 0);
  assert.deepEqual(stale.ended, ['replaced']);

  const again = await openInstance(t, after.url, { credentials: instance.identity!.credentials, epoch: 4 });
  await until(() => again.inbound.length === 1 && again.receipts.length === 1);
  assert.equal(again.inbound[0]!.networkId, inbound.id);
  assert.deepEqual(
    { ...again.receipts[0], at: null },
    { networkId: shown, kind: 'read', chat: jid(THEIRS), by: jid(THEIRS), at: null },
  );
  await again.sendText(THEIRS, 'shown', shown);
  assert.equal((await after.get('/ledger')).entries[0].times_seen, 3);

  await after.post('/phones', { phone: '5511977770002', online: true });
  await until(() => again.receipts.length === 2);
  assert.equal(again.receipts[1]!.networkId, waiting);
});

test('a phone that was about to read reads after the restart', async (t) => {
  const dataDir = await temporaryFolder(t);
  const before = await startSandbox(t, { dataDir });
  const instance = await pairInstance(t, before, OURS);
  await before.post('/phones', { phone: THEIRS, read_delay_ms: 3_000 });
  await instance.sendText(THEIRS, 'soon');
  await before.close();
  const after = await startSandbox(t, { dataDir });
  const again = await openInstance(t, after.url, { credentials: instance.identity!.credentials });
  await until(() => again.receipts.some(({ kind }) => kind === 'read'));
});

test('a journal that a crash cut short loses the broken line only', async (t) => {
  const dataDir = await temporaryFolder(t);
  const before = await startSandbox(t, { dataDir });
  const instance = await pairInstance(t, before, OURS);
  await instance.sendText(THEIRS, 'whole');
  await before.close();
  await appendFile(join(dataDir, 'network.jsonl'), '["message",{"id":"torn');

  const after = await startSandbox(t, { dataDir });
  assert.equal((await after.get('/ledger')).total, 1);
  const again = await openInstance(t, after.url, { credentials: instance.identity!.credentials });
  await until(() => again.connected);
  await again.sendText(THEIRS, 'next');
  await after.close();
  assert.equal((await (await startSandbox(t, { dataDir })).get('/ledger')).total, 2);
});

test('a journal damaged in the middle stops the start with the place of the damage', async (t) => {
  const dataDir = await temporaryFolder(t);
  const before = await startSandbox(t, { dataDir });
  await pairInstance(t, before, OURS);
  await before.close();
  const path = join(dataDir, 'network.jsonl');
  await writeFile(path, `{broken\n${await readFile(path, 'utf8')}`);
  await assert.rejects(createSandboxServer({ dataDir }), /journal is damaged at line 1$/);
});

test('a journal full of history is made small at the start, and nothing is forgotten', async (t) => {
  const dataDir = await temporaryFolder(t);
  const before = await startSandbox(t, { dataDir });
  await before.post('/defaults', { read_delay_ms: 0 });
  const instance = await pairInstance(t, before, OURS);
  await Promise.all(Array.from({ length: 300 }, (_, i) => instance.sendText(THEIRS, `text ${i}`)));
  await until(() => instance.receipts.length === 600);
  await before.post('/phones', { phone: '5511977770002', online: false });
  await instance.sendText('5511977770002', 'waiting');
  await instance.session.close();
  await before.post(`/phones/${THEIRS}/messages`, { to: OURS, text: 'unacked' });
  const paths = ['/ledger', '/ledger/summary', `/phones/${THEIRS}/messages`, `/phones/${OURS}/messages`];
  const told = await Promise.all(paths.map((path) => before.get(path)));
  await before.close();
  const path = join(dataDir, 'network.jsonl');
  const sizeBefore = (await stat(path)).size;

  for (let start = 0; start < 2; start++) {
    const after = await startSandbox(t, { dataDir, compactAboveBytes: 1000 });
    assert.deepEqual(await Promise.all(paths.map((each) => after.get(each))), told);
    await after.close();
  }
  assert.ok((await stat(path)).size * 2 < sizeBefore + 40_000, 'the journal is not smaller');

  const last = await startSandbox(t, { dataDir });
  const again = await openInstance(t, last.url, { credentials: instance.identity!.credentials });
  await until(() => again.inbound.length === 1);
  await delay(30);
  assert.deepEqual(again.receipts, []);
  await last.post('/phones', { phone: '5511977770002', online: true });
  await until(() => again.receipts.length === 2);
});

interface Running {
  child: ChildProcess;
  output: () => string;
}

function runMain(t: TestContext, env: Record<string, string>): Running {
  const child = spawn(process.execPath, [MAIN], { env: { PATH: process.env.PATH, ...env } });
  let output = '';
  child.stdout.on('data', (data) => (output += data));
  child.stderr.on('data', (data) => (output += data));
  t.after(() => child.kill('SIGKILL'));
  return { child, output: () => output };
}

test('npm run sandbox: acknowledged messages survive kill -9, and SIGTERM ends it cleanly', async (t) => {
  const dataDir = await temporaryFolder(t);
  const port = await freePort();
  const env = { SANDBOX_PORT: String(port), DATA_DIR: dataDir };
  const control = controlOf(`http://127.0.0.1:${port}`);
  const isUp = () =>
    control.get('/health').then(
      () => true,
      () => false,
    );

  const first = runMain(t, env);
  await until(isUp, 60_000);
  const instance = await openInstance(t, `ws://127.0.0.1:${port}/ws`);
  await until(() => instance.connected);
  const acked: string[] = [];
  const sending = (async () => {
    for (let i = 0; ; i++) acked.push(await instance.sendText(THEIRS, `text ${i}`));
  })().catch(() => {});
  await until(() => acked.length > 200);
  first.child.kill('SIGKILL');
  await sending;
  await until(() => instance.ended.length > 0);

  const second = runMain(t, { ...env, LOG_LEVEL: 'debug' });
  await until(isUp, 60_000);
  const { entries } = await control.get('/ledger?limit=50000');
  const kept = new Set(entries.map((entry: { network_id: string }) => entry.network_id));
  assert.deepEqual(
    acked.filter((id) => !kept.has(id)),
    [],
  );
  const again = await openInstance(t, `ws://127.0.0.1:${port}/ws`, {
    credentials: instance.identity!.credentials,
  });
  await until(() => again.connected);

  second.child.kill('SIGTERM');
  const [code] = await once(second.child, 'exit');
  assert.equal(code, 0, second.output());
  assert.deepEqual(again.ended, ['connection_lost']);
  assert.ok(!second.output().includes(instance.identity!.phone), 'a phone number in the log');
});

test('npm run sandbox: a bad setting or a taken port ends the start with one line that names it', async (t) => {
  const dataDir = await temporaryFolder(t);
  const taken = await startSandbox(t);
  const cases: [Record<string, string>, RegExp][] = [
    [{ SANDBOX_PORT: 'eighty' }, /^sandbox: SANDBOX_PORT: [^\n]+\n$/],
    [{ SANDBOX_AUTO_PAIR: 'maybe' }, /^sandbox: SANDBOX_AUTO_PAIR: [^\n]+\n$/],
    [{ SANDBOX_PORT: String(taken.port), LOG_LEVEL: 'silent' }, /^sandbox: port \d+ is in use: [^\n]*\n$/],
  ];
  for (const [env, expected] of cases) {
    const { child, output } = runMain(t, { DATA_DIR: dataDir, ...env });
    const [code] = await once(child, 'close');
    assert.equal(code, 1, JSON.stringify(env));
    assert.match(output(), expected);
  }
});
