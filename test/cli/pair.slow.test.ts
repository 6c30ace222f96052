import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { type Cli, createCli } from './run-cli.ts';
import { type Standalone, startStandalone } from './start-standalone.ts';

describe('pairing with msgctl, where phones do not pair by themselves', { timeout: 500_000 }, () => {
  let system: Standalone;
  let cli: Cli;
  before(async () => {
    system = await startStandalone({ SANDBOX_AUTO_PAIR: 'false', RATE_LIMIT_PER_MINUTE: '6000' });
    cli = createCli({ POSTHORN_URL: system.url, POSTHORN_SANDBOX_URL: system.sandboxUrl });
    await cli.json(['quick-register', '--email', 'a@example.com']);
  });
  after(async () => {
    cli?.remove();
    await system?.stop();
  });

  const state = async () => (await cli.json<{ state: string }>(['instances', 'get'])).state;

  test('a virtual phone scans the QR', async () => {
    const created = await cli.run(['instances', 'create', 'sales', '--connect', '--wait', '--timeout', '1']);
    assert.equal(created.code, 1);
    assert.match(created.stderr, /the instance is still/);
    await waitFor(async () => (await state()) === 'PAIRING', 60_000);
    const waiting = await cli.run(['instances', 'connect', '--wait', '--timeout', '1']);
    assert.equal(waiting.code, 1);
    assert.match(waiting.stderr, /still PAIRING; pair it: msgctl pair/);
    const paired = await cli.json(['pair', '--phone', '+55 11 98888-0001', '--wait']);
    assert.equal(paired.phone, '5511988880001');
    assert.equal(await state(), 'CONNECTED');
  });

  test('an instance that is logged out pairs anew, with a code this time', async () => {
    await cli.json(['instances', 'logout', '--yes']);
    await waitFor(async () => (await state()) === 'DISCONNECTED' || (await state()) === 'CREATED', 60_000);
    await cli.json(['instances', 'connect']);
    await waitFor(async () => (await cli.run(['instances', 'qr'])).code === 0, 60_000);
    const { code } = await cli.json<{ code: string }>([
      'instances',
      'pairing-code',
      '--phone',
      '5511988880002',
    ]);
    await cli.json(['sandbox', 'pair', '--phone', '5511988880002', '--code', code]);
    await waitFor(async () => (await state()) === 'CONNECTED', 60_000);
  });

  test('the QR can be saved as a picture', async () => {
    await cli.json(['instances', 'create', 'support', '--connect']);
    const file = path.join(path.dirname(cli.config), 'qr.png');
    await waitFor(async () => (await cli.run(['instances', 'qr', '--png', file])).code === 0, 60_000);
    assert.deepEqual([...readFileSync(file).subarray(1, 4)], [...Buffer.from('PNG')]);
  });
});
