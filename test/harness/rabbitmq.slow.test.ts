import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { createRabbitBroker } from '@posthorn/core/platform/broker/rabbitmq.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { baseEnv, projectRoot, waitFor } from '../support/process.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { speaksAmqp } from '../support/rabbitmq-server.ts';

const log = createLog({ level: 'silent', role: 'test' });

describe('a private RabbitMQ', () => {
  it('gives each test file queues of its own', async () => {
    const [one, two] = await Promise.all([createTestVhost(), createTestVhost()]);
    const [first, second] = [one, two].map(({ url }) => createRabbitBroker({ url, log }));
    await first?.declare(['same-name']);
    await first?.publish('same-name', 'for the first');
    await second?.declare(['other-name']);
    await assert.rejects(second!.publish('same-name', 'for nobody'), /no such queue/);
    await Promise.all([first?.close(), second?.close()]);
  });

  it('leaves no process and no folder behind when the test process dies', async () => {
    const script = `
      const { startRabbit } = await import(${JSON.stringify(path.join(projectRoot, 'test/support/rabbitmq.ts'))});
      const server = await startRabbit();
      console.log(JSON.stringify({ url: server.url, dir: server.dir }));
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      cwd: projectRoot,
      env: baseEnv(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    await waitFor(() => output.includes('\n'), 90_000);
    const { url, dir } = JSON.parse(output) as { url: string; dir: string };
    const port = Number(new URL(url).port);
    assert.equal(await speaksAmqp(port, '127.0.0.1', 30_000), true);
    assert.ok(!existsSync('/proc') || processesOf(dir).length >= 2, 'the server and its port mapper run');
    child.kill('SIGKILL');
    await waitFor(() => !existsSync(dir));
    assert.equal(await speaksAmqp(port), false);
    await waitFor(() => processesOf(dir).length === 0);
  });
});

/** Processes whose home is the folder; none where the system does not show it. */
function processesOf(dir: string): string[] {
  if (!existsSync('/proc')) return [];
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`HOME=${dir}\0`);
      } catch {
        return false;
      }
    });
}
