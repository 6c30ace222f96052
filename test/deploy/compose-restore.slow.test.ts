import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { baseEnv, projectRoot } from '@posthorn/test/support/process.ts';
import { seedCompany } from '@posthorn/test/support/seed.ts';
import { startOwnDatabase } from './own-database.ts';

const run = promisify(execFile);
const IN_POSTGRES = /^docker compose --file deploy\/compose\.yaml exec -T postgres /;

/** The literal commands of docs/deploying.md that run in the container of PostgreSQL. */
function documentedCommands(): { backup: string; restore: string } {
  const text = readFileSync(path.join(projectRoot, 'docs/deploying.md'), 'utf8').replaceAll(/\\\n\s*/g, '');
  const commands = text.split('\n').filter((line) => IN_POSTGRES.test(line));
  const [backup, restore] = commands.map((line) => line.replace(IN_POSTGRES, ''));
  assert.equal(commands.length, 2);
  return { backup: backup!, restore: restore! };
}

test('a dump of the database of compose.yaml is restored into an empty one by the manual, and belongs to its user again', async (t) => {
  const { backup, restore } = documentedCommands();
  const dir = mkdtempSync(path.join(tmpdir(), 'posthorn-compose-restore-'));
  const [first, second] = await Promise.all([startOwnDatabase(), startOwnDatabase()]);
  const log = createLog({ level: 'silent', role: 'test' });
  const before = createDb({ url: first.url, poolSize: 2, log, name: 'test' });
  const restored = createDb({ url: second.url, poolSize: 2, log, name: 'test' });
  t.after(async () => {
    await Promise.all([before.close(), restored.close()]);
    await Promise.all([first.server.stop(), second.server.stop()]);
    rmSync(dir, { recursive: true });
  });
  const migrate = (url: string, ...args: string[]) =>
    run(process.execPath, ['core/migrations/migrate-main.ts', ...args], {
      cwd: projectRoot,
      env: { ...baseEnv(), DATABASE_URL: url },
    });
  await migrate(first.url);
  const { companyId } = await seedCompany(before);

  execFileSync('sh', ['-c', backup], { cwd: dir, env: first.superuserEnv });
  await migrate(second.url, '--role');
  execFileSync('sh', ['-c', restore], { cwd: dir, env: second.superuserEnv });
  await migrate(second.url);

  const { rows } = await restored.query('SELECT id FROM companies WHERE id = $1', [companyId]);
  assert.equal(rows.length, 1);
  const owners = await restored.query<{ tableowner: string }>(
    `SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname IN ('public', 'billing')`,
  );
  assert.deepEqual(owners.rows, [{ tableowner: 'posthorn' }]);
  // Billing's own role works there.
  await restored.query('SET ROLE posthorn_billing');
});
