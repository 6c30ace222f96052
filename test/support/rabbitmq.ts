import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from './process.ts';
import { startDockerRabbit } from './rabbitmq-docker.ts';
import { ensureRabbitSource } from './rabbitmq-install.ts';
import { clusterNode, startProgramRabbit } from './rabbitmq-program.ts';
import type { RabbitLaunch, RabbitServer } from './rabbitmq-server.ts';
import { askShared } from './shared.ts';

/** Virtual hosts made at the first start, one for each test file that asks. */
const VHOST_COUNT = 60;

/**
 * Starts a private RabbitMQ on 127.0.0.1 and a free port, without epmd. It never outlives the process
 * that started it. Takes about five seconds.
 */
export async function startRabbit(options: { dir?: string; port?: number } = {}): Promise<RabbitServer> {
  const source = ensureRabbitSource();
  const dir = options.dir ?? makeDir();
  mkdirSync(dir, { recursive: true });
  const port = options.port ?? (await freePort());
  const launch = prepare(dir, { host: '127.0.0.1', port, vhosts: VHOST_COUNT });
  return source.kind === 'docker' ? startDockerRabbit(launch) : startProgramRabbit(launch, source.path);
}

/**
 * A cluster of three nodes, each at an address of its own (127.0.0.2 and so on, which Linux has without setup), because
 * without epmd nodes find each other by one port. Queues with three replicas survive the loss of any node.
 */
export async function startRabbitCluster(): Promise<RabbitServer[]> {
  const source = ensureRabbitSource();
  if (source.kind === 'docker') throw new Error('a cluster needs an installed rabbitmq-server');
  const port = await freePort();
  const cluster = { cookie: randomUUID(), distPort: await freePort() };
  const launches = CLUSTER_HOSTS.map((host) => ({
    ...prepare(makeDir(), { host, port, vhosts: 0 }),
    host,
    cluster,
  }));
  const formation = [
    'cluster_formation.peer_discovery_backend = classic_config',
    ...launches.map(
      (launch, nth) => `cluster_formation.classic_config.nodes.${nth + 1} = ${clusterNode(launch)}`,
    ),
    '',
  ].join('\n');
  return Promise.all(
    launches.map((launch) =>
      startProgramRabbit({ ...launch, config: launch.config + formation }, source.path),
    ),
  );
}

const CLUSTER_HOSTS = ['127.0.0.2', '127.0.0.3', '127.0.0.4'];

function makeDir(): string {
  return mkdtempSync(path.join(tmpdir(), 'posthorn-rabbit-'));
}

function prepare(
  dir: string,
  { host, port, vhosts }: { host: string; port: number; vhosts: number },
): RabbitLaunch {
  const definitionsFile = path.join(dir, 'definitions.json');
  writeFileSync(definitionsFile, JSON.stringify(definitions(vhosts)));
  const config = [
    'loopback_users = none',
    'log.console = true',
    'log.console.level = warning',
    'log.file = false',
    'vm_memory_high_watermark.absolute = 512MB',
    'disk_free_limit.absolute = 50MB',
    'collect_statistics_interval = 60000',
    'raft.wal_max_size_bytes = 4000000',
    '',
  ].join('\n');
  return { dir, port, config, definitionsFile, url: `amqp://guest:guest@${host}:${port}` };
}

// Module state on purpose: a test file that runs alone has no runner to pass it a broker.
let own: Promise<RabbitServer> | undefined;

/**
 * A broker URL whose queues no other test file uses: a virtual host of its own on the broker of the run or, for a file
 * that runs alone, on a private broker that lives as long as this process. When AMQP_URL is set, all files get that
 * broker, and then run one after the other.
 */
export async function createTestVhost(): Promise<{ url: string }> {
  const shared =
    (await askShared('rabbitmq')) ?? (process.env.AMQP_URL ? { url: process.env.AMQP_URL } : undefined);
  if (shared) return { url: shared.claims ? `${shared.url}/${claim(shared.claims)}` : shared.url };
  own ??= startRabbit();
  const server = await own;
  return { url: `${server.url}/${claim(claimsOf(server))}` };
}

/** The folder where test files claim the virtual hosts of a broker. */
export function claimsOf(server: RabbitServer): string {
  const claims = path.join(server.dir, 'claims');
  mkdirSync(claims, { recursive: true });
  return claims;
}

/** Making a folder is atomic: two files that ask at the same time get two virtual hosts. */
function claim(claims: string): string {
  for (let number = 1; number <= VHOST_COUNT; number += 1) {
    const name = `test-${number}`;
    try {
      mkdirSync(path.join(claims, name));
      return name;
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw err;
    }
  }
  throw new Error(`all ${VHOST_COUNT} virtual hosts are taken: raise VHOST_COUNT`);
}

/** The user guest, the default virtual host and those of test files. Loading definitions replaces the default user and vhost. */
function definitions(count: number) {
  const salt = Buffer.from(randomUUID().slice(0, 4));
  const hash = createHash('sha256')
    .update(Buffer.concat([salt, Buffer.from('guest')]))
    .digest();
  const vhosts = ['/', ...Array.from({ length: count }, (_, index) => `test-${index + 1}`)];
  return {
    users: [
      {
        name: 'guest',
        password_hash: Buffer.concat([salt, hash]).toString('base64'),
        hashing_algorithm: 'rabbit_password_hashing_sha256',
        tags: ['administrator'],
      },
    ],
    vhosts: vhosts.map((name) => ({ name })),
    permissions: vhosts.map((vhost) => ({ user: 'guest', vhost, configure: '.*', write: '.*', read: '.*' })),
  };
}
