import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { freePort, projectRoot, waitFor } from '@posthorn/test/support/process.ts';
import { createTestVhost } from '@posthorn/test/support/rabbitmq.ts';
import { buildImage, IMAGE_USER, PLANTED, type TestImage } from './build-image.ts';
import { type Container, runContainer, runToEnd, untilReady } from './container.ts';
import { type OwnDatabase, startOwnDatabase } from './own-database.ts';

const SIZE_MAX_MB = 450;
/** SHUTDOWN_DELAY_SECONDS and SHUTDOWN_GRACE_SECONDS as they are in production. */
const SHUTDOWN_MAX_MS = (5 + 10) * 1_000;

let image: TestImage;
const inImage = (file: string) => path.join(image.rootfs, file);

before(async () => {
  const since = performance.now();
  image = await buildImage();
  console.log(`the image was built in ${((performance.now() - since) / 1_000).toFixed(0)} s`);
});
after(() => image?.remove());

describe('the image of deploy/Dockerfile', () => {
  it(`has at most ${SIZE_MAX_MB} MB`, () => {
    const [bytes] = execFileSync('du', ['-s', '-B1', image.rootfs], { encoding: 'utf8' }).split('\t');
    const megabytes = Math.round(Number(bytes) / 1e6);
    console.log(`the image has ${megabytes} MB`);
    assert.ok(megabytes <= SIZE_MAX_MB, `${megabytes} MB`);
  });

  it('runs as a user who may write only to /data and to public folders, and has a health check', () => {
    const { User, Healthcheck } = image.config;
    assert.equal(User, `${IMAGE_USER}:${IMAGE_USER}`);
    assert.deepEqual(Healthcheck.Test, ['CMD', 'posthorn', 'healthy']);
    const search = ['find', '/', '-xdev', '-writable', '-not', '-type', 'l', '-not', '-path', '/dev/*'];
    const { stdout } = spawnSync('chroot', [`--userspec=${User}`, image.rootfs, ...search], {
      encoding: 'utf8',
    });
    assert.deepEqual(stdout.trim().split('\n').sort(), ['/data', '/run/lock', '/tmp', '/var/tmp']);
  });

  it('has no package that only development needs, and nothing else of a checkout', () => {
    const { packages } = JSON.parse(readFileSync(path.join(projectRoot, 'package-lock.json'), 'utf8'));
    const forDevelopment = Object.entries<{ dev?: boolean }>(packages).filter(([, { dev }]) => dev);
    assert.ok(forDevelopment.length > 100);
    const left = ['test', 'bench', 'docs', 'sdk', 'cli', 'console', '.git'];
    const found = [...forDevelopment.map(([folder]) => folder), ...left].filter((folder) =>
      existsSync(inImage(`opt/posthorn/${folder}`)),
    );
    assert.deepEqual(found, []);
    assert.ok(existsSync(inImage('opt/posthorn/server/dist/reference.js')), 'the page of /docs');
    assert.ok(existsSync(inImage('opt/posthorn/server/dist/console/index.html')), 'the console');
  });

  it('has no secret, neither of the checkout that it was built in nor of its own', () => {
    const search = ['--recursive', '--quiet', '--fixed-strings', PLANTED, inImage('opt'), inImage('data')];
    assert.equal(spawnSync('grep', search).status, 1);
    for (const pair of image.config.Env) assert.doesNotMatch(pair, /SECRET|PASSWORD|KEY|TOKEN/);
  });

  it('lists the roles when none is named', async () => {
    const container = runContainer(image, []);
    assert.equal(await container.ended, 64);
    assert.match(container.output(), /messaging, billing, worker, sandbox, migrate, admin or standalone/);
  });
});

/** The actions of a user at an installation: an account, a connected instance, a text, and its events. */
async function openAccount(url: string) {
  let key: string | undefined;
  let instanceId = '';
  async function call(method: string, route: string, body?: object) {
    const answer = await fetch(`${url}${route}`, {
      method,
      headers: {
        ...(key ? { 'x-api-key': key } : {}),
        ...(body ? { 'content-type': 'application/json', 'idempotency-key': randomUUID() } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${route}: ${answer.status} ${text}`);
    return text === '' ? {} : JSON.parse(text);
  }
  ({ api_key: key } = await call('POST', '/v1/auth/quick-register', { email: 'you@example.com' }));
  ({ id: instanceId } = await call('POST', '/v1/instances', { name: 'first' }));
  await call('PATCH', `/v1/instances/${instanceId}/settings`, { humanize_enabled: false });
  await call('POST', `/v1/instances/${instanceId}/connect`);
  const state = async () => (await call('GET', `/v1/instances/${instanceId}`)).state;
  await waitFor(async () => (await state()) === 'CONNECTED', 60_000, { everyMs: 500 });
  return {
    call,
    async sendText(text: string): Promise<string> {
      const to = '5511987654321';
      return (await call('POST', `/v1/instances/${instanceId}/messages/text`, { to, text })).message_id;
    },
    async untilTold(messageId: string, types: readonly string[]) {
      await waitFor(
        async () => {
          const { data } = await call('GET', '/v1/events?types=message.*');
          const told = data
            .filter((event: { data: { message_ids: string[] } }) =>
              event.data.message_ids.includes(messageId),
            )
            .map(({ type }: { type: string }) => type);
          return types.every((type) => told.includes(type));
        },
        60_000,
        { what: `the events ${types} are told`, everyMs: 500 },
      );
    },
    statusOf: async (messageId: string) =>
      (await call('GET', `/v1/instances/${instanceId}/message/${messageId}`)).status,
  };
}

describe('the roles of the image, on a read-only file system', () => {
  const roles = new Map<string, Container>();
  const ports: Record<string, number> = {};
  let database: OwnDatabase;
  let env: Record<string, string>;
  const urlOf = (role: string) => `http://127.0.0.1:${ports[role]}`;

  before(async () => {
    database = await startOwnDatabase();
    for (const role of ['messaging', 'billing', 'worker', 'sandbox']) ports[role] = await freePort();
    env = {
      DATABASE_URL: database.url,
      AMQP_URL: (await createTestVhost()).url,
      JWT_SECRET: randomBytes(32).toString('hex'),
      ENCRYPTION_KEY: randomBytes(32).toString('hex'),
      INTERNAL_SECRET: randomBytes(32).toString('hex'),
      BILLING_SIMULATED: 'true',
      PORT: String(ports.messaging),
      BILLING_PORT: String(ports.billing),
      WORKER_PORT: String(ports.worker),
      SANDBOX_PORT: String(ports.sandbox),
      SANDBOX_URL: `ws://127.0.0.1:${ports.sandbox}/ws`,
    };
  });
  after(async () => {
    for (const container of roles.values()) await container.stop();
    await database?.server.stop();
  });

  it('migrates an empty database, as a user who is no superuser', async () => {
    const { DATABASE_URL } = env;
    assert.match(
      await runToEnd(image, ['migrate'], { env: { DATABASE_URL: DATABASE_URL! } }),
      /newest schema/,
    );
  });

  it('starts messaging, billing, a worker and the sandbox, and each answers that it is healthy and ready', async () => {
    const volume = image.makeVolume();
    for (const role of ['sandbox', 'messaging', 'billing', 'worker'])
      roles.set(role, runContainer(image, [role], { env, volume }));
    for (const [role, container] of roles) {
      const path = role === 'sandbox' ? '/health' : '/ready';
      await untilReady(container, `${urlOf(role)}${path}`);
      // A container has one role: nobody listens on the ports of the others there.
      await runToEnd(image, ['healthy', path], { env: { PORT: String(ports[role]) } });
    }
    assert.doesNotMatch(roles.get('billing')!.output(), /role cannot be used/);
  });

  it('sends a text and reports its outcome', async () => {
    const account = await openAccount(urlOf('messaging'));
    const messageId = await account.sendText('Hello from a container!');
    await account.untilTold(messageId, ['message.sent', 'message.delivered', 'message.read']);
    assert.equal(await account.statusOf(messageId), 'read');
    for (const page of ['docs', 'console'])
      assert.ok((await fetch(`${urlOf('messaging')}/${page}`)).ok, page);
    const plans = await fetch(`${urlOf('billing')}/v1/billing/plans`);
    assert.ok(plans.ok, `${plans.status}`);
  });

  it('ends each with exit code 0 at SIGTERM, within the time of a shutdown', async () => {
    for (const [role, container] of roles) {
      const { code, tookMs } = await container.stop();
      console.log(`${role} ended ${Math.round(tookMs)} ms after SIGTERM`);
      assert.equal(code, 0, `${role}: ${container.output()}`);
      assert.ok(tookMs <= SHUTDOWN_MAX_MS, `${role} took ${tookMs} ms`);
    }
  });

  it('is not healthy where nothing listens', async () => {
    const container = runContainer(image, ['healthy'], { env });
    assert.equal(await container.ended, 1);
    assert.match(container.output(), /nothing listens/);
  });
});

describe('one container with everything in it, on one volume', () => {
  it('keeps its data through a stop, a backup of the volume, and a restore into another one', async () => {
    const [PORT, BILLING_PORT, SANDBOX_PORT] = [await freePort(), await freePort(), await freePort()].map(
      String,
    );
    const env = { PORT: PORT!, BILLING_PORT: BILLING_PORT!, SANDBOX_PORT: SANDBOX_PORT! };
    const url = `http://127.0.0.1:${PORT}`;
    const [first, second] = [image.makeVolume(), image.makeVolume()];
    const one = runContainer(image, ['standalone'], { env, volume: first });
    await untilReady(one, `${url}/ready`);
    const account = await openAccount(url);
    const messageId = await account.sendText('Hello from one container!');
    await account.untilTold(messageId, ['message.read']);
    assert.equal((await one.stop()).code, 0, one.output());

    // As the manual describes it.
    const backup = `${first}.tar`;
    execFileSync('tar', ['-C', first, '-cf', backup, '.']);
    execFileSync('tar', ['-C', second, '-xpf', backup]);
    const other = runContainer(image, ['standalone'], { env, volume: second });
    await untilReady(other, `${url}/ready`);
    assert.equal(await account.statusOf(messageId), 'read');
    const next = await account.sendText('Hello from another one!');
    await account.untilTold(next, ['message.read']);
    assert.equal((await other.stop()).code, 0, other.output());
  });
});
