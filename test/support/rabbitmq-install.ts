import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** How this machine can run a RabbitMQ. */
export type RabbitSource = { kind: 'program'; path: string } | { kind: 'docker' };

const POLICY = '/usr/sbin/policy-rc.d';

/**
 * Finds a RabbitMQ to start, installing Debian's package when we are root there, else looking for
 * Docker. Throws one line that says what to install: no test is skipped for want of a broker.
 */
export function ensureRabbitSource(): RabbitSource {
  const found = findProgram();
  if (found) return { kind: 'program', path: found };
  if (process.getuid?.() === 0 && existsSync('/etc/debian_version')) {
    installDebianPackage();
    const installed = findProgram();
    if (installed) return { kind: 'program', path: installed };
  }
  if (spawnSync('docker', ['info'], { stdio: 'ignore', timeout: 10_000 }).status === 0)
    return { kind: 'docker' };
  throw new Error(
    'The tests need RabbitMQ >= 3.10: install rabbitmq-server (apt-get install rabbitmq-server, brew install rabbitmq), start Docker, or set AMQP_URL.',
  );
}

function findProgram(): string | undefined {
  const onPath = (process.env.PATH ?? '').split(path.delimiter);
  // Debian's program in /usr/sbin changes to the user rabbitmq and to the system's own data; what it
  // calls is in /usr/lib and goes by the environment.
  const folders = ['/usr/lib/rabbitmq/bin', ...onPath, '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/sbin'];
  return folders.map((folder) => path.join(folder, 'rabbitmq-server')).find((file) => existsSync(file));
}

/** Installs the package without letting it start the system's service. */
function installDebianPackage(): void {
  console.log('RabbitMQ is missing: installing rabbitmq-server with apt-get');
  const ownPolicy = '#!/bin/sh\n# no service is started while the tests install a package\nexit 101\n';
  const hadPolicy = existsSync(POLICY);
  if (!hadPolicy) writeFileSync(POLICY, ownPolicy, { mode: 0o755 });
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args: string[]) => execFileSync('apt-get', ['-q', ...args], { env, stdio: 'pipe' });
  try {
    apt('update');
    apt('install', '-y', '--no-install-recommends', 'rabbitmq-server');
  } catch (err) {
    const stderr = String((err as { stderr?: Buffer }).stderr ?? '').trim();
    console.error(`apt-get failed: ${stderr.split('\n').at(-1)}`);
  } finally {
    if (!hadPolicy && readFileSync(POLICY, 'utf8') === ownPolicy) rmSync(POLICY);
  }
}
