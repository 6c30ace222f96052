import { execFile } from 'node:child_process';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { waitFor } from './process.ts';
import { type RabbitLaunch, type RabbitServer, SYNC_TABLES, speaksAmqp } from './rabbitmq-server.ts';
import { reap } from './reaper.ts';

const IMAGE = 'rabbitmq:4-alpine';
/** The first start may pull the image. */
const START_TIMEOUT_MS = 300_000;

/** Runs RabbitMQ in a container, for machines that have Docker and no RabbitMQ. */
export async function startDockerRabbit(launch: RabbitLaunch): Promise<RabbitServer> {
  const { dir, port } = launch;
  const name = `posthorn-test-rabbit-${port}`;
  const configFile = path.join(dir, '99-posthorn.conf');
  writeFileSync(configFile, `${launch.config}load_definitions = /etc/rabbitmq/definitions.json\n`);
  // Read by the container's own user.
  chmodSync(dir, 0o755);
  for (const file of [configFile, launch.definitionsFile]) chmodSync(file, 0o644);

  const docker = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)('docker', args, { timeout: START_TIMEOUT_MS });
    return stdout;
  };
  const answers = () =>
    waitFor(() => speaksAmqp(port), START_TIMEOUT_MS, { what: 'RabbitMQ answers', everyMs: 100 });
  const create = async () => {
    await docker(
      ...['run', '--detach', '--name', name, '--hostname', name, '--publish', `127.0.0.1:${port}:5672`],
      ...['--volume', `${configFile}:/etc/rabbitmq/conf.d/99-posthorn.conf:ro`],
      ...['--volume', `${launch.definitionsFile}:/etc/rabbitmq/definitions.json:ro`],
      IMAGE,
    );
    await answers();
  };
  const isRunning = async () =>
    (await docker('inspect', '--format', '{{.State.Running}}', name)).trim() === 'true';
  const end = async () => {
    if (await isRunning()) await docker('kill', name);
  };
  const ctl = (...args: string[]) => docker('exec', name, 'rabbitmqctl', '-q', ...args);
  const remove = () => docker('rm', '--force', '--volumes', name);

  const forget = reap({ dir, command: ['docker', 'rm', '--force', '--volumes', name] });
  await create();
  return {
    url: launch.url,
    dir,
    async kill() {
      if (await isRunning()) await ctl(...SYNC_TABLES);
      await end();
    },
    async restart() {
      await end();
      await docker('start', name);
      await answers();
    },
    async wipe() {
      await remove();
      await create();
    },
    pause: async () => void (await docker('pause', name)),
    resume: async () => void (await docker('unpause', name)),
    ctl,
    async stop() {
      await remove();
      rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
      forget();
    },
  };
}
