import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePort, isPortFree, waitFor } from './process.ts';
import { type RabbitLaunch, type RabbitServer, SYNC_TABLES, speaksAmqp } from './rabbitmq-server.ts';
import { reap } from './reaper.ts';
import { stopEpmd } from './stop-epmd.ts';

const START_TIMEOUT_MS = 90_000;
/** Longer than a disk is ever stuck: a killed process is gone only when its last write has ended. */
const END_TIMEOUT_MS = 60_000;

/** Runs an installed RabbitMQ on its own data, apart from the machine's own service. */
export async function startProgramRabbit(launch: RabbitLaunch, program: string): Promise<RabbitServer> {
  const { dir, port, host = '127.0.0.1', cluster } = launch;
  const file = (name: string) => path.join(dir, name);
  writeFileSync(
    file('rabbitmq.conf'),
    `${launch.config}listeners.tcp.1 = ${host}:${port}\nload_definitions = ${launch.definitionsFile}\n`,
  );
  writeFileSync(file('enabled_plugins'), '[].\n');
  // RabbitMQ reads this file in place of the machine's own rabbitmq-env.conf.
  writeFileSync(file('env.conf'), '');

  const distPort = cluster?.distPort ?? (await freePort());
  const name = `posthorn${port}`;
  // Nodes find each other by port, not through epmd. RabbitMQ still insists on starting that daemon, so it gets a port
  // of its own, where it can be told to end.
  const epmdPort = await freePort();
  const dist = `-setcookie ${cluster?.cookie ?? name} -kernel inet_dist_use_interface {${host.replaceAll('.', ',')}} -start_epmd false -erl_epmd_port ${distPort}`;
  const env = {
    PATH: process.env.PATH,
    HOME: dir,
    LANG: 'C.UTF-8',
    RABBITMQ_NODENAME: cluster ? clusterNode(launch) : `${name}@localhost`,
    ...(cluster ? { RABBITMQ_USE_LONGNAME: 'true' } : {}),
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_NODE_IP_ADDRESS: host,
    // RabbitMQ checks that this port is free at all addresses, which the port of a cluster is not; Erlang listens at
    // the one above.
    RABBITMQ_DIST_PORT: String(cluster ? await freePort() : distPort),
    ERL_EPMD_PORT: String(epmdPort),
    ERL_EPMD_ADDRESS: host,
    RABBITMQ_CONFIG_FILE: file('rabbitmq.conf'),
    RABBITMQ_CONF_ENV_FILE: file('env.conf'),
    RABBITMQ_ENABLED_PLUGINS_FILE: file('enabled_plugins'),
    RABBITMQ_GENERATED_CONFIG_DIR: file('generated'),
    RABBITMQ_MNESIA_BASE: file('data'),
    RABBITMQ_LOG_BASE: file('log'),
    RABBITMQ_LOGS: '-',
    RABBITMQ_PID_FILE: file('pid'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: `${dist} +S 2:2 +sbwt none`,
    // The port of `-erl_epmd_port` is the server's: the short-lived rabbitmqctl must not listen on it too.
    RABBITMQ_CTL_ERL_ARGS: `${dist} -dist_listen false`,
  };
  const log = openSync(file('output'), 'a');
  const forget = reap({ dir, epmdPort });

  const start = async () => {
    // A group of its own: the runtime has helper processes that must die with it.
    const server = spawn(program, [], { env, cwd: dir, stdio: ['ignore', log, log], detached: true });
    server.unref();
    server.once('exit', reap({ pid: -(server.pid as number) }));
    const ended = () => server.exitCode !== null || server.signalCode !== null;
    await waitFor(() => ended() || speaksAmqp(port, host), START_TIMEOUT_MS, {
      what: 'RabbitMQ answers',
      everyMs: 50,
    });
    if (ended()) {
      const output = readFileSync(file('output'), 'utf8').slice(-2_000);
      throw new Error(
        `RabbitMQ ended with ${server.exitCode ?? server.signalCode} while starting:\n${output}`,
      );
    }
    return server;
  };
  let server = await start();

  const signalAll = (signal: NodeJS.Signals) => process.kill(-(server.pid as number), signal);
  const isRunning = () => server.exitCode === null && server.signalCode === null;
  const end = async () => {
    if (!isRunning()) return;
    server.ref();
    const exit = once(server, 'exit');
    signalAll('SIGKILL');
    await exit;
    // The process that we started is a shell. The runtime below it may die later and hold its ports until then.
    await waitFor(
      async () => (await isPortFree(port, host)) && (await isPortFree(distPort, host)),
      END_TIMEOUT_MS,
      {
        what: 'a killed RabbitMQ gives its ports back',
      },
    );
  };
  const restart = async () => {
    await end();
    server = await start();
  };

  const ctl = async (...args: string[]) => {
    const rabbitmqctl = path.join(path.dirname(program), 'rabbitmqctl');
    const { stdout } = await promisify(execFile)(rabbitmqctl, ['-q', ...args], { env, cwd: dir });
    return stdout;
  };

  return {
    url: launch.url,
    dir,
    async kill() {
      if (isRunning()) await ctl(...SYNC_TABLES);
      await end();
    },
    restart,
    async wipe() {
      await end();
      rmSync(file('data'), { recursive: true, force: true, maxRetries: 10 });
      await restart();
    },
    pause: async () => void signalAll('SIGSTOP'),
    resume: async () => void signalAll('SIGCONT'),
    ctl,
    async stop() {
      await end();
      await stopEpmd(epmdPort);
      rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
      forget();
    },
  };
}

/** The name under which the other nodes of the cluster find a node. */
export function clusterNode({ host, port }: Pick<RabbitLaunch, 'host' | 'port'>): string {
  return `posthorn${port}@${host}`;
}
