/** Foreign servers that answer at random: they can end neither the process nor requests to others. */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createGithubProvider } from '@posthorn/core/accounts/oauth/github-provider.ts';
import { createOpenIdProvider } from '@posthorn/core/accounts/oauth/openid-provider.ts';
import { createAsaasHttp } from '@posthorn/core/billing/provider/asaas-http.ts';
import { ProviderError } from '@posthorn/core/billing/provider/port.ts';
import type { InboundMedia, OutboundMedia } from '@posthorn/core/network/driver.ts';
import { createOutbound } from '@posthorn/core/platform/http/outbound-http.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createGcsStorage } from '@posthorn/core/platform/storage/gcs.ts';
import { createS3Storage } from '@posthorn/core/platform/storage/s3.ts';
import { type Storage, StorageError, StorageMissing } from '@posthorn/core/platform/storage/storage.ts';
import { startExporting } from '@posthorn/core/platform/tracing/otlp.ts';
import { downloadMedia, uploadMedia } from '@posthorn/network/whatsapp-cloud/media.ts';
import { PostAttempt } from '@posthorn/worker/webhooks/post-attempt.ts';
import { type RunningProcess, startProcess, waitFor } from '../support/process.ts';

const ASKS_FOR_MS = 4_000;
const AT_ONCE = 16;
const ENDS_WITHIN_MS = 2_000;
/** A busy machine gets two or three answers a second, because most of them are large files. */
const ENOUGH_WITHIN_MS = 30_000;
const IDLE_MS = 1_000;
const LARGE_BYTES = 6 * 1024 * 1024;

let server: RunningProcess;
let url: string;
let directory: string;
before(async () => {
  server = await startProcess({
    entry: 'test/platform/random-http-server-main.ts',
    ready: { line: /port \d+/ },
  });
  url = `http://127.0.0.1:${/port (\d+)/.exec(server.output())![1]}`;
  directory = await mkdtemp(path.join(tmpdir(), 'posthorn-random-'));
});
after(async () => {
  await server.kill();
  await rm(directory, { recursive: true, force: true, maxRetries: 10 });
});

/** Sends requests again and again, many at once. An uncaught error fails the file. */
async function askOn(ask: () => Promise<unknown>, isExpected: (err: unknown) => boolean): Promise<number> {
  let answers = 0;
  const until = performance.now() + ASKS_FOR_MS;
  const isEnough = () => answers > AT_ONCE;
  const one = async () => {
    while (performance.now() < until || !isEnough()) {
      await ask().catch((err) => {
        if (!isExpected(err)) throw err;
      });
      answers += 1;
    }
  };
  const all = Promise.all(Array.from({ length: AT_ONCE }, one));
  const enough = async () => {
    await delay(ASKS_FOR_MS);
    await waitFor(isEnough, ENOUGH_WITHIN_MS, { what: `more than ${AT_ONCE} answers` });
    // The last requests may get no answer.
    await delay(ENDS_WITHIN_MS);
  };
  await Promise.race([all, enough()]);
  return answers;
}

async function writeAtRandom(storage: Storage): Promise<void> {
  const file = { path: path.join(directory, `file ${Math.random()}`), sizeBytes: pick([1_000, LARGE_BYTES]) };
  if (chance()) return storage.remove('key');
  await writeFile(file.path, Buffer.alloc(file.sizeBytes));
  await storage.put('key', file, { mimeType: 'image/png' });
}

async function readAtRandom(storage: Storage): Promise<void> {
  const stream = await storage.open('key', pick([undefined, { start: 0, end: 10 }]));
  if (chance()) await delay(randomInt(50));
  if (chance()) stream.destroy();
  else await stream.toArray().catch(() => undefined);
}

function chance(): boolean {
  return Math.random() < 0.4;
}

function pick<T>(list: readonly T[]): T {
  return list[randomInt(list.length)]!;
}

const isStorageError = (err: unknown) => err instanceof StorageError || err instanceof StorageMissing;

test('a random server of S3', async (t) => {
  const storage = await createS3Storage({
    bucket: 'bucket',
    spoolDir: directory,
    region: 'region',
    endpoint: url,
    forcePathStyle: true,
    credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
    idleTimeoutMs: IDLE_MS,
  });
  const use = () => (chance() ? writeAtRandom(storage) : readAtRandom(storage));
  t.diagnostic(`${await askOn(use, isStorageError)} answers`);
  await storage.close();
});

test('a random server of Google Cloud Storage', async (t) => {
  const storage = await createGcsStorage({
    bucket: 'bucket',
    spoolDir: directory,
    apiEndpoint: url,
    projectId: 'project',
    idleTimeoutMs: IDLE_MS,
  });
  // Its library waits for minutes when it writes or removes.
  t.diagnostic(`${await askOn(() => readAtRandom(storage), isStorageError)} answers`);
  await storage.close();
});

test('random providers of social logins', async (t) => {
  const own = { clientId: 'id', clientSecret: 'secret', redirectUrl: 'http://127.0.0.1/back' };
  const providers = [
    createOpenIdProvider({ ...own, issuer: url, clock: systemClock }),
    createGithubProvider({ ...own, baseUrl: url, apiUrl: url }),
  ];
  const secrets = { state: 'state', nonce: 'nonce', codeVerifier: 'v'.repeat(43) };
  const params = new URLSearchParams({ code: 'code', state: 'state' });
  const ask = () => pick(providers).identify({ ...secrets, params });
  t.diagnostic(`${await askOn(ask, (err) => err instanceof Error)} answers`);
});

test('a random payment provider', async (t) => {
  const http = createAsaasHttp({ apiKey: 'key', baseUrl: url, timeoutMs: IDLE_MS });
  const ask = () => pick([() => http.call('GET', '/x'), () => http.call('POST', '/x', { x: 1 })])();
  t.diagnostic(`${await askOn(ask, (err) => err instanceof ProviderError)} answers`);
});

test('a random network of official numbers', async (t) => {
  const access = { graph: { url, version: 'v26.0' }, token: 'token', phoneNumberId: '1' };
  const file = { fileName: 'x.png', mimeType: 'image/png', sizeBytes: LARGE_BYTES };
  const outbound = { ...file, open: async () => Readable.from([Buffer.alloc(LARGE_BYTES)]) } as OutboundMedia;
  const download = async () => {
    const stream = await downloadMedia(access, { ref: '1' } as InboundMedia);
    if (chance()) await delay(randomInt(50));
    if (chance()) stream.destroy();
    else await stream.toArray().catch(() => undefined);
  };
  const ask = (): Promise<unknown> => (chance() ? uploadMedia(access, outbound) : download());
  t.diagnostic(`${await askOn(ask, (err) => err instanceof Error)} answers`);
});

test('random receivers of webhooks: each attempt ends once', async (t) => {
  const outbound = createOutbound({ allowPrivate: true });
  const ends: number[] = [];
  const ask = async () => {
    const nth = ends.push(0) - 1;
    const ended = Promise.withResolvers<void>();
    const attempt = new PostAttempt(() => {
      ends[nth]! += 1;
      ended.resolve();
    });
    const aborting = setTimeout(() => attempt.abort(new Error('too late')), pick([5, 50, IDLE_MS]));
    const body = Buffer.alloc(pick([10, 100_000]), 0x20);
    const headers = ['content-type', 'application/json', 'content-length', String(body.length)];
    attempt.send(outbound.to(new URL(url)), { path: '/hook', headers, body });
    await ended.promise;
    clearTimeout(aborting);
  };
  t.diagnostic(`${await askOn(ask, () => false)} answers`);
  await delay(IDLE_MS);
  assert.deepEqual(
    ends.filter((count) => count !== 1),
    [],
  );
  await outbound.close();
});

test('a random collector of traces', async (t) => {
  const trace = startExporting({
    url,
    service: 'test',
    clock: systemClock,
    log: createLog({ level: 'silent', role: 'test' }),
    config: { OTEL_TRACES_SAMPLER_ARG: 1 },
    shutdown: { add: (_, close) => t.after(close) },
  } as Parameters<typeof startExporting>[0]);
  let spans = 0;
  await askOn(
    async () => {
      trace({
        name: 'step',
        kind: 'server',
        traceId: '0'.repeat(32),
        durationMs: 1,
        isRequest: true,
      } as never);
      spans += 1;
      await delay(20);
    },
    () => false,
  );
  t.diagnostic(`${spans} spans`);
});
