import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { canInstallPackages, installDebianPackage } from './debian-package.ts';

/** How this machine can run a RabbitMQ. */
export type RabbitSource = { kind: 'program'; path: string } | { kind: 'docker' };

/**
 * Finds a RabbitMQ to start, installing Debian's package when we are root there, else looking for
 * Docker. Throws one line that says what to install: no test is skipped for want of a broker.
 */
export function ensureRabbitSource(): RabbitSource {
  const found = findProgram();
  if (found) return { kind: 'program', path: found };
  if (canInstallPackages()) {
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
  // Debian's program in /usr/sbin changes to the user rabbitmq and to the system's own data; what it
  // calls is in /usr/lib and goes by the environment.
  const folders = ['/usr/lib/rabbitmq/bin', ...onPath, '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/sbin'];
  return folders.map((folder) => path.join(folder, 'rabbitmq-server')).find((file) => existsSync(file));
}
