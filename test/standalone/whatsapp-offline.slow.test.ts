import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  freePort,
  projectRoot,
  type RunningProcess,
  startProcess,
  waitFor,
} from '@posthorn/test/support/process.ts';
import { ensureWhatsAppLibrary } from '../support/whatsapp/library-install.ts';
import { isOfSlowMachine } from './slow-machine.ts';

/** The quickstart with a real network that cannot be reached. */
describe('npm start with WhatsApp and without internet', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'posthorn-offline-'));
  let posthorn: RunningProcess;
  let url: string;
  let key: string;
  before(async () => {
    await ensureWhatsAppLibrary();
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    posthorn = await startProcess({
      entry: 'standalone/main.js',
      env: {
        DATA_DIR: path.join(dir, '.data'),
        PORT: String(port),
        SANDBOX_PORT: String(await freePort()),
        BILLING_PORT: String(await freePort()),
        NETWORK_DRIVERS: 'sandbox,whatsapp',
        // No name server ever knows this name.
        WHATSAPP_URL: 'wss://web.whatsapp.invalid/ws/chat',
      },
      ready: { line: /is ready after/ },
    });
    const registered = await fetch(`${url}/v1/auth/quick-register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'you@example.com' }),
    });
    key = ((await registered.json()) as { api_key: string }).api_key;
  });
  after(async () => {
    await posthorn?.kill('SIGTERM');
    const database = path.join(dir, '.data', 'postgres');
    // The database is outside of it where only root may enter the temp folder.
    if (existsSync(database)) rmSync(realpathSync(database), { recursive: true });
    rmSync(dir, { recursive: true });
  });

  // biome-ignore lint/suspicious/noExplicitAny: answers of an API under test are looked at field by field
  async function get(route: string): Promise<any> {
    return (await fetch(`${url}${route}`, { headers: { 'x-api-key': key } })).json();
  }

  function msgctl(...args: string[]): Promise<{ code: number; said: string }> {
    return new Promise((resolve) => {
      const env = { ...process.env, POSTHORN_URL: url, POSTHORN_API_KEY: key, HOME: dir };
      execFile(
        process.execPath,
        ['cli/entry.ts', ...args],
        { cwd: projectRoot, env },
        (err, stdout, stderr) => resolve({ code: err ? Number(err.code ?? 1) : 0, said: stdout + stderr }),
      );
    });
  }

  it('reports in words why there is no QR code, keeps trying quietly, and stays up', async () => {
    const created = await msgctl(
      'instances',
      'create',
      'shop',
      '--driver',
      'whatsapp',
      '--connect',
      '--json',
    );
    assert.equal(created.code, 0, created.said);
    const { id } = JSON.parse(created.said);
    const told = await waitFor(async () => {
      const instance = await get(`/v1/instances/${id}`);
      return instance.last_error && instance;
    });
    assert.equal(told.state, 'DISCONNECTED');
    assert.match(told.last_error, /^the WhatsApp network cannot be reached \([A-Z_]+\); it is tried again$/);

    const before = posthorn.output().length;
    const waited = await msgctl(
      'instances',
      'create',
      'other',
      '--driver',
      'whatsapp',
      '--wait',
      '--timeout',
      '30',
    );
    assert.notEqual(waited.code, 0);
    assert.match(waited.said, /the WhatsApp network cannot be reached/);
    await delay(2_000);
    const lines = posthorn.output().slice(before).split('\n');
    assert.deepEqual(
      lines.filter((line) => line !== '' && !isOfSlowMachine(line)),
      [],
      'a network that is away writes nothing into the log',
    );

    const { moves } = await get(`/v1/instances/${id}/connection`);
    assert.deepEqual(
      moves.map(({ from, to, reason }: Record<string, string>) => [from, to, reason]),
      [['CREATED', 'DISCONNECTED', 'connection_lost']],
      'told once, however often it is tried',
    );
    const qr = await fetch(`${url}/v1/instances/${id}/qr`, { headers: { 'x-api-key': key } });
    assert.equal(qr.status, 503);
    assert.equal((await fetch(`${url}/health`)).status, 200);
  });
});
