import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
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

test('a restore that breaks off leaves nothing, and no later command of the manual calls the database whole', async (t) => {
  const text = readFileSync(path.join(projectRoot, 'docs/operating.md'), 'utf8');
  const section = text.split(/^## /m).find((part) => part.startsWith('Backup and restore'))!;
  const [backup = '', restore = ''] = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, found]) => found);
  const dir = mkdtempSync(path.join(tmpdir(), 'posthorn-broken-restore-'));
  const dump = path.join(dir, 'posthorn.dump');
  const { url, server, superuserEnv } = await startOwnDatabase();
  const log = createLog({ level: 'silent', role: 'test' });
  const db = createDb({ url, poolSize: 2, log, name: 'test' });
  t.after(async () => {
    await db.close();
    await server.stop();
    rmSync(dir, { recursive: true });
  });
  /** As typed by somebody whose shell goes on after a command that failed. */
  const type = (commands: string) =>
    run('sh', ['-c', commands.replaceAll('posthorn.dump', dump)], {
      cwd: projectRoot,
      env: { ...baseEnv(), PATH: superuserEnv.PATH, DATABASE_URL: url },
    }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      ({ code, stdout }) => ({ code: Number(code), stdout: String(stdout) }),
    );
  assert.equal((await type('npm run --silent migrate')).code, 0);
  await seedCompany(db);
  assert.equal((await type(backup)).code, 0);
  truncateSync(dump, statSync(dump).size - 40);
  await db.query('DROP SCHEMA billing CASCADE');
  await db.query('DROP SCHEMA public CASCADE');
  await db.query('CREATE SCHEMA public');

  const { code, stdout } = await type(restore);
  assert.notEqual(code, 0, stdout);
  assert.doesNotMatch(stdout, /the database is at the newest schema/);
  const { rows } = await db.query(
    `SELECT tablename FROM pg_tables WHERE schemaname IN ('public', 'billing')`,
  );
  assert.deepEqual(rows, []);
});
