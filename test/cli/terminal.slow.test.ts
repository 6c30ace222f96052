import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { drawQr } from '@posthorn/cli/qr/draw.ts';
import { json, startHttp } from '../sdk/http-server.ts';
import { waitFor } from '../support/process.ts';
import { type Cli, createCli } from './run-cli.ts';
import { type Standalone, startStandalone } from './start-standalone.ts';
import { type CliTerminal, openCliTerminal } from './terminal-harness.ts';

const PHONE = '5511988880009';

describe('msgctl in a terminal against the whole system', { timeout: 500_000 }, () => {
  let system: Standalone;
  let cli: Cli;
  let terminal: CliTerminal;
  before(async () => {
    system = await startStandalone({ SANDBOX_AUTO_PAIR: 'false', RATE_LIMIT_PER_MINUTE: '6000' });
    const env = { POSTHORN_URL: system.url, POSTHORN_SANDBOX_URL: system.sandboxUrl };
    cli = createCli(env);
    await cli.json(['quick-register', '--email', 'a@example.com']);
  });
  beforeEach(async () => {
    const env = { POSTHORN_URL: system.url, POSTHORN_SANDBOX_URL: system.sandboxUrl };
    terminal = await openCliTerminal({ ...env, POSTHORN_CONFIG: cli.config }, { columns: 140, rows: 60 });
  });
  afterEach(() => terminal?.close());
  after(async () => {
    cli?.remove();
    await system?.stop();
  });

  test('instances create --wait draws a QR code, which a phone scans', async () => {
    terminal.msgctl('instances create sales --wait');
    await terminal.shows(/Scan this with the phone for sales/, 30_000);
    // The code on the screen: it changes every twenty seconds, and the previous one is then invalid.
    await waitFor(
      async () => {
        const found = await cli.run(['instances', 'qr', '--json']);
        if (found.code !== 0) return null;
        const { qr } = JSON.parse(found.stdout) as { qr: string };
        const screen = terminal.screen();
        if (!drawQr(qr, 'dark').every((line) => screen.includes(line.trimEnd()))) return false;
        return (await cli.run(['sandbox', 'pair', '--phone', PHONE, '--qr', qr])).code === 0;
      },
      60_000,
      { everyMs: 200 },
    );
    const screen = await terminal.endsWith(0, 30_000);
    assert.match(screen, /state +CONNECTED[\s\S]*phone +5511988880009/);
  });

  test('events tail shows a message that comes in', async () => {
    terminal.msgctl('events tail');
    await terminal.shows(/live/);
    await cli.json(['trigger', 'message.received']);
    await terminal.shows(/message\.received.*Hello from the sandbox/);
    terminal.press('C-c');
    await terminal.endsWith(0);
  });

  test('instances watch shows a state as it changes', async () => {
    terminal.msgctl('instances watch');
    await terminal.shows(/sales +CONNECTED +5511988880009/);
    await cli.json(['instances', 'disconnect']);
    await terminal.shows(/sales +DISCONNECTED/);
    await cli.json(['instances', 'connect']);
    await terminal.shows(/sales +CONNECTED/);
    terminal.press('C-c');
    await terminal.endsWith(0);
  });

  test('deliveries watch shows a delivery that failed, and its replay', async (t) => {
    let status = 500;
    const receiver = await startHttp((res) => json(res, status, { answer: 'mine' }));
    t.after(() => receiver.close());
    const { id } = await cli.json<{ id: number }>(['webhooks', 'create', receiver.url]);
    terminal.msgctl('deliveries watch --every 1');
    await terminal.shows(/as of/);
    await cli.json(['webhooks', 'test', String(id)]);
    await terminal.shows(/500 +webhook\.test +\d +server_5xx/, 30_000);
    // In one piece, as a terminal passes it to a busy program.
    terminal.type('webhook.test\r');
    await terminal.shows(/"type": "webhook\.test"[\s\S]*"answer": "mine"/);
    status = 200;
    terminal.press('C-r');
    const [, since] = /as of ([\d:]+) · .* is delivered again/.exec(
      await terminal.shows(/as of .* is delivered again/),
    ) as RegExpExecArray;
    // The result stays on the screen while the table is updated.
    await terminal.shows(new RegExp(`as of (?!${since})[\\d:]+ · .* is delivered again`));
    terminal.press('Escape');
    await terminal.shows(/200 +webhook\.test +\d +delivered/, 30_000);
    terminal.press('C-c');
    await terminal.endsWith(0);
    await cli.json(['webhooks', 'delete', String(id), '--yes']);
  });
});
