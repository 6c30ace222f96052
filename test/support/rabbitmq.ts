import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from './process.ts';
import { startDockerRabbit } from './rabbitmq-docker.ts';
import { ensureRabbitSource } from './rabbitmq-install.ts';
import { startProgramRabbit } from './rabbitmq-program.ts';
import type { RabbitServer } from './rabbitmq-server.ts';
import { askShared } from './shared.ts';

/** Virtual hosts made at the first start, one for each test file that asks. */
const VHOST_COUNT = 60;

/**
 * Starts a private RabbitMQ on 127.0.0.1 and a free port, without epmd. It never outlives the process
 * that started it. Takes about five seconds.
 */
export async function startRabbit(options: { dir?: string; port?: number } = {}): Promise<RabbitServer> {
  const source = ensureRabbitSource();
  const dir = options.dir ?? mkdtempSync(path.join(tmpdir(), 'posthorn-rabbit-'));
  mkdirSync(dir, { recursive: true });
  const port = options.port ?? (await freePort());
  const definitionsFile = path.join(dir, 'definitions.json');
  writeFileSync(definitionsFile, JSON.stringify(definitions()));
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
  const launch = { dir, port, config, definitionsFile, url: `amqp://guest:guest@127.0.0.1:${port}` };
  return source.kind === 'docker' ? startDockerRabbit(launch) : startProgramRabbit(launch, source.path);
}

// Module state on purpose: a test file run alone has no runner that hands it a broker.
let own: Promise<RabbitServer> | undefined;

/**
 * A broker URL whose queues no other test file uses: a virtual host of its own on the broker of the run or, for a file run
 * alone, on a private broker that lives as long as this process. With AMQP_URL set it is that one, the same for all
 * files, which then run one after the other.
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

/** The user guest and the virtual hosts. Loading definitions replaces the default user and vhost. */
function definitions() {
  const salt = Buffer.from(randomUUID().slice(0, 4));
  const hash = createHash('sha256')
    .update(Buffer.concat([salt, Buffer.from('guest')]))
    .digest();
  const vhosts = ['/', ...Array.from({ length: VHOST_COUNT }, (_, index) => `test-${index + 1}`)];
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
