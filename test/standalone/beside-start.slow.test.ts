import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { it } from 'node:test';
import { baseEnv, freePort, projectRoot, startProcess } from '@posthorn/test/support/process.ts';

function admin(args: string[], env: Record<string, string>) {
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    execFile(
      process.execPath,
      ['admin/main.ts', ...args],
      { cwd: projectRoot, env: { ...baseEnv(), ...env } },
      (err, stdout, stderr) => resolve({ code: err ? Number(err.code) : 0, stdout, stderr }),
    );
  });
}

async function freshEnv(): Promise<Record<string, string>> {
  const [port, billing, sandbox] = await Promise.all([freePort(), freePort(), freePort()]);
  return {
    DATA_DIR: path.join(mkdtempSync(path.join(tmpdir(), 'posthorn-beside-')), '.data'),
    PORT: String(port),
    BILLING_PORT: String(billing),
    SANDBOX_PORT: String(sandbox),
  };
}

it('npm run admin looks after an npm start without any setting but its DATA_DIR', async (t) => {
  const env = await freshEnv();
  const { DATA_DIR = '' } = env;
  const server = await startProcess({ entry: 'standalone/main.js', env, ready: { line: /is ready after/ } });
  t.after(async () => {
    await server.kill('SIGTERM');
    rmSync(realpathSync(path.join(DATA_DIR, 'postgres')), { recursive: true });
    rmSync(path.dirname(DATA_DIR), { recursive: true });
  });
  const looked = await admin(['doctor'], { DATA_DIR });
  assert.equal(looked.code, 0, looked.stdout + looked.stderr);
  assert.match(looked.stdout, /^ok +broker: in the process of npm start$/m);
  assert.match(looked.stdout, /^ok +workers: 1 live/m);
  const registered = await fetch(`http://127.0.0.1:${env.PORT}/v1/auth/quick-register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'owner@example.com' }),
  });
  const { company_id: companyId } = (await registered.json()) as { company_id: number };
  const erased = await admin(['erase', String(companyId), '--yes'], { DATA_DIR });
  assert.match(erased.stdout, /^nothing of it is left$/m, erased.stderr);

  await server.kill('SIGTERM');
  const { code, stderr } = await admin(['doctor'], { DATA_DIR });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^admin: DATABASE_URL is not set, and no npm start runs on \S+: start it, or set DATABASE_URL\n$/,
  );
});
