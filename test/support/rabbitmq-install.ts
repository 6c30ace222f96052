import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { installDebianPackage, isDebianRoot } from './debian-package.ts';

/** The ways in which this machine can run a RabbitMQ. */
export type RabbitSource = { kind: 'program'; path: string } | { kind: 'docker' };

/**
 * Finds a RabbitMQ to start, installing Debian's package when we are root there, else looking for Docker. Throws one
 * line with the package to install: no test is skipped because a broker is missing.
 */
export function ensureRabbitSource(): RabbitSource {
  const found = findProgram();
  if (found) return { kind: 'program', path: found };
  if (isDebianRoot()) {
    installDebianPackage('rabbitmq-server');
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
  // Debian's program in /usr/sbin changes to the user rabbitmq and to the system's own data; the programs that it calls
  // are in /usr/lib and follow the environment.
  const folders = ['/usr/lib/rabbitmq/bin', ...onPath, '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/sbin'];
  return folders.map((folder) => path.join(folder, 'rabbitmq-server')).find((file) => existsSync(file));
}
