import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createSandboxServer, type SandboxServer } from '@posthorn/network/sandbox/server.ts';
import { freePort } from '../support/process.ts';
import { type Cli, createCli } from './run-cli.ts';

describe('msgctl sandbox', () => {
  let sandbox: SandboxServer;
  let cli: Cli;
  before(async () => {
    sandbox = await createSandboxServer({ autoPair: false });
    cli = createCli({ POSTHORN_SANDBOX_URL: sandbox.controlUrl });
  });
  after(async () => {
    cli.remove();
    await sandbox.close();
  });

  test('makes, changes and shows phones', async () => {
    const made = await cli.json([
      'sandbox',
      'phones',
      'set',
      '+55 11 98888-0001',
      'name=Ana',
      'read_receipts=false',
    ]);
    assert.deepEqual([made.phone, made.name, made.read_receipts], ['5511988880001', 'Ana', false]);
    const shown = await cli.json(['sandbox', 'phones', '5511988880001']);
    assert.equal(shown.name, 'Ana');
    const { code, stderr } = await cli.run(['sandbox', 'phones', '5511900000000']);
    assert.equal(code, 5);
    assert.match(stderr, /^msgctl: PHONE_NOT_FOUND: /);
  });

  test('makes a group with a phone, changes it and leaves it', async () => {
    const does = (...args: string[]) => cli.json(['sandbox', 'phones', 'do', '5511988880005', ...args]);
    const { jid } = await does('groups', 'name=Ours', 'participants:=["5511988880006"]');
    const changed = await does(`groups/${jid}`, 'name=Theirs', 'promote:=["5511988880006"]');
    assert.deepEqual([changed.name, changed.admins], ['Theirs', ['5511988880005', '5511988880006']]);
    assert.deepEqual((await does(`groups/${jid}/leave`)).participants, ['5511988880006']);
  });

  test('sends from one phone to another, shows it there and reads it', async () => {
    await cli.json(['sandbox', 'phones', 'set', '5511988880003', 'auto_read=false', 'delivery_delay_ms=0']);
    const sent = await cli.json([
      'sandbox',
      'messages',
      'send',
      '5511988880002',
      '--to',
      '5511988880003',
      '--text',
      'hi',
    ]);
    const { messages } = await cli.json<{ messages: { id: string; text: string }[] }>([
      'sandbox',
      'messages',
      '5511988880003',
    ]);
    assert.deepEqual(
      messages.map(({ id, text }) => [id, text]),
      [[sent.id, 'hi']],
    );
    const { stdout } = await cli.run(['sandbox', 'messages', 'list', '5511988880003']);
    assert.match(stdout, /^TIME +FROM +TYPE +STATUS +TEXT +ID\n/);
    assert.deepEqual(await cli.json(['sandbox', 'phones', 'do', '5511988880003', 'read']), { read: 1 });
  });

  test('orders, lists and takes back faults', async () => {
    const added = await cli.json([
      'sandbox',
      'faults',
      'add',
      'delay',
      'delay_ms=50',
      'times=2',
      'phone=5511988880001',
    ]);
    assert.deepEqual(
      [added.kind, added.delay_ms, added.times, added.phone],
      ['delay', 50, 2, '5511988880001'],
    );
    await cli.json(['sandbox', 'faults', 'add', 'refuse']);
    const { faults } = await cli.json<{ faults: unknown[] }>(['sandbox', 'faults']);
    assert.equal(faults.length, 2);
    assert.deepEqual(await cli.json(['sandbox', 'faults', 'clear', '--kind', 'refuse']), { cleared: 1 });
    assert.deepEqual(await cli.json(['sandbox', 'faults', 'clear']), { cleared: 1 });
    const wrong = await cli.run(['sandbox', 'faults', 'add', 'earthquake']);
    assert.equal(wrong.code, 1);
  });

  test('shows the ledger, entries and counts', async () => {
    const { entries } = await cli.json<{ entries: unknown[] }>(['sandbox', 'ledger']);
    assert.deepEqual(entries, [], 'phones write to each other without an instance');
    const counts = await cli.json(['sandbox', 'ledger', '--summary', '--phone', '5511988880001']);
    assert.equal(counts.total, 0);
  });

  test('refuses a QR that nobody shows', async () => {
    const { code, stderr } = await cli.run(['sandbox', 'pair', '--phone', '5511988880001', '--qr', 'x']);
    assert.equal(code, 5);
    assert.match(stderr, /PAIRING_NOT_FOUND/);
    const neither = await cli.run(['sandbox', 'pair', '--phone', '5511988880001']);
    assert.equal(neither.code, 2);
  });

  test('asks whether the sandbox network runs when it cannot reach it, and exits with 3', async () => {
    const { code, stderr } = await cli.run([
      'sandbox',
      'ledger',
      '--sandbox-url',
      `http://127.0.0.1:${await freePort()}`,
    ]);
    assert.equal(code, 3);
    assert.match(stderr, /is the sandbox network running\?/);
  });
});
