import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { migrate } from '@posthorn/core/migrations/migrate.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { connectInstances, proveExactlyOnce } from '../faults/traffic.ts';
import { startPostgres } from '../support/postgres.ts';
import { ensurePostgresTools } from '../support/postgres-tools.ts';
import { baseEnv, freePort, projectRoot, startProcess } from '../support/process.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { startSystem } from '../support/system.ts';

const run = promisify(execFile);
const QUEUED = 30;
const INSTANCES = 3;

/** The commands of docs/operating.md, first those of the backup, then those of the restore. */
function documentedCommands(): { backup: string; restore: string } {
  const text = readFileSync(path.join(projectRoot, 'docs/operating.md'), 'utf8');
  const section = text.split(/^## /m).find((part) => part.startsWith('Backup and restore'))!;
  const [backup, restore] = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, commands]) => commands!);
  return { backup: backup!, restore: restore! };
}

test('a dump made while messages are queued is restored into another cluster by the manual, with a new broker: each goes out once', async (t) => {
  const tools = ensurePostgresTools();
  const [first, second] = await Promise.all([
    startPostgres({ binaries: tools }),
    startPostgres({ binaries: tools }),
  ]);
  const dir = mkdtempSync(path.join(tmpdir(), 'posthorn-restore-'));
  const log = createLog({ level: 'silent', role: 'test' });
  await migrate(first.url);
  const { url: amqpUrl } = await createTestVhost();
  const system = await startSystem({ databaseUrl: first.url, amqpUrl });
  const db = createDb({ url: second.url, poolSize: 4, log, name: 'test' });
  t.after(async () => {
    await system.stop();
    await db.close();
    await Promise.all([first.stop(), second.stop()]);
    rmSync(dir, { recursive: true });
  });

  const { company, instances } = await connectInstances(system, INSTANCES);
  await system.workers[0]!.kill('SIGTERM');
  const accepted = new Map<string, string[]>(instances.map(({ id }) => [id, []]));
  const send = async (url: string, nth: number) => {
    const { id } = instances[nth % INSTANCES]!;
    const answer = await fetch(`${url}/v1/instances/${id}/messages/text`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': company.apiKey,
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify({ to: `55319${String(nth).padStart(8, '0')}`, text: `message ${nth}` }),
    });
    assert.equal(answer.status, 202);
    accepted.get(id)!.push(((await answer.json()) as { message_id: string }).message_id);
  };
  for (let nth = 0; nth < QUEUED; nth += 1) await send(system.urls[0]!, nth);

  const shell = async (commands: string, databaseUrl: string) => {
    const script = commands.replaceAll('posthorn.dump', path.join(dir, 'posthorn.dump'));
    const env: Record<string, string> = { ...baseEnv(), DATABASE_URL: databaseUrl };
    env.PATH = `${path.join(tools, 'bin')}${path.delimiter}${env.PATH}`;
    return run('sh', ['-eux', '-c', script], { cwd: projectRoot, env });
  };
  const { backup, restore } = documentedCommands();
  await shell(backup, first.url);
  await system.messaging[0]!.kill('SIGTERM');
  await first.kill();
  const { stdout, stderr } = await shell(restore, second.url);
  assert.doesNotMatch(stderr, /pg_restore: (error|warning)/);
  assert.match(stdout, /the role posthorn_billing is there/);
  assert.match(stdout, /the database is at the newest schema/);

  const env = { ...system.env, DATABASE_URL: second.url, AMQP_URL: (await createTestVhost()).url };
  const start = async (entry: string, portSetting: string) => {
    const port = String(await freePort());
    const url = `http://127.0.0.1:${port}`;
    const running = await startProcess({
      entry,
      env: { ...env, [portSetting]: port },
      ready: { url: `${url}/ready` },
      timeoutMs: 90_000,
    });
    t.after(() => running.kill('SIGTERM'));
    return { url, running };
  };
  const [messaging, billing] = await Promise.all([
    start('server/messaging/main.ts', 'PORT'),
    start('server/billing/main.ts', 'BILLING_PORT'),
    start('worker/main.ts', 'WORKER_PORT'),
  ]);
  assert.doesNotMatch(billing.running.output(), /role cannot be used/);
  for (let nth = QUEUED; nth < QUEUED + INSTANCES; nth += 1) await send(messaging.url, nth);
  await proveExactlyOnce({ ...system, db }, instances, accepted);
});
