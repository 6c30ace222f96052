import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createParts, type Parts } from '../support/parts.ts';
import { freePort, type RunningProcess, startProcess } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';
import { sized } from '../support/size.ts';

const MB = 1024 * 1024;
const UPLOADS = sized(8, 20, 20);
const UPLOAD_BYTES = 64 * MB;
const BASE64_SENDS = sized(4, 10, 10);
const BASE64_BYTES = 40 * MB;
const RSS_MAX_BYTES = 600 * MB;

let parts: Parts;
let server: RunningProcess;
let company: SeededCompany;
let instanceId: string;
let dataDir: string;
let base: string;

before(async () => {
  parts = await createParts();
  company = await seedCompany(parts.db);
  instanceId = await seedInstance(parts.db, company.companyId);
  dataDir = await mkdtemp(path.join(tmpdir(), 'posthorn-limits-'));
  const port = await freePort();
  server = await startProcess({
    entry: 'server/messaging/main.ts',
    env: {
      NODE_ENV: 'test',
      LOG_LEVEL: 'warn',
      DATA_DIR: dataDir,
      DATABASE_URL: parts.url,
      AMQP_URL: 'amqp://127.0.0.1',
      PORT: String(port),
      JWT_SECRET: 'a secret of the tests, long enough for HS256',
      ENCRYPTION_KEY: '5a'.repeat(32),
    },
    ready: { url: `http://127.0.0.1:${port}/ready` },
  });
  base = `http://127.0.0.1:${port}/v1/instances/${instanceId}`;
});
after(async () => {
  await server.kill('SIGTERM');
  await parts.close();
  await rm(dataDir, { recursive: true, force: true, maxRetries: 10 });
});

/** A megabyte of incompressible bytes, different for each upload. */
function block(nth: number): Buffer {
  return Buffer.alloc(MB, `block of upload ${nth} `);
}

const JPEG = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0x10, 0x4a, 0x46, 0x49, 0x46, 0, 1]);

/** The bytes of one file, a megabyte at a time, so that the client does not need the memory. */
function* fileOf(nth: number, sizeBytes: number): Generator<Buffer> {
  const piece = block(nth);
  yield Buffer.concat([JPEG, piece.subarray(JPEG.length)]);
  for (let left = sizeBytes - MB; left > 0; left -= MB) yield piece;
}

function hashOf(nth: number, sizeBytes: number): string {
  const hash = createHash('sha256');
  for (const piece of fileOf(nth, sizeBytes)) hash.update(piece);
  return hash.digest('hex');
}

interface Answer {
  status: number;
  retryAfter: number;
  body: { media_id?: string; message_id?: string };
}

function post(url: string, headers: Record<string, string>, body: Iterable<Buffer>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sending = request(url, { method: 'POST', headers: { 'x-api-key': company.apiKey, ...headers } });
    sending.on('error', reject);
    sending.on('response', async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      resolve({
        status: response.statusCode!,
        retryAfter: Number(response.headers['retry-after'] ?? 0),
        body: JSON.parse(text) as Answer['body'],
      });
    });
    void (async () => {
      for (const piece of body) {
        if (sending.destroyed) return;
        if (!sending.write(piece)) await new Promise((go) => sending.once('drain', go));
      }
      sending.end();
    })();
  });
}

function upload(nth: number): Promise<Answer> {
  const head = Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a.jpg"\r\n\r\n');
  const body = function* () {
    yield head;
    yield* fileOf(nth, UPLOAD_BYTES);
    yield Buffer.from('\r\n--b--\r\n');
  };
  return post(`${base}/media`, { 'content-type': 'multipart/form-data; boundary=b' }, body());
}

function sendBase64(nth: number, key: string): Promise<Answer> {
  const body = function* () {
    yield Buffer.from(`{"to":"55119${String(nth).padStart(8, '0')}","media_base64":"data:image/jpeg;base64,`);
    let carried = Buffer.alloc(0);
    for (const piece of fileOf(1000 + nth, BASE64_BYTES)) {
      const bytes = Buffer.concat([carried, piece]);
      const whole = bytes.length - (bytes.length % 3);
      yield Buffer.from(bytes.toString('base64', 0, whole));
      carried = bytes.subarray(whole);
    }
    yield Buffer.from(`${carried.toString('base64')}","caption":"behind it"}`);
  };
  const headers = { 'content-type': 'application/json', 'idempotency-key': key };
  return post(`${base}/messages/image`, headers, body());
}

/** Repeats a request while it is told to come again. */
async function untilTaken(ask: () => Promise<Answer>): Promise<{ answer: Answer; refusals: number }> {
  for (let refusals = 0; ; refusals += 1) {
    const answer = await ask();
    if (answer.status !== 503) return { answer, refusals };
    assert.ok(answer.retryAfter > 0, '503 says when to come again');
    await delay(answer.retryAfter * 1000 * (0.5 + Math.random()));
  }
}

async function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)![1]) * 1024;
}

test(`${UPLOADS} uploads of 64 MB and ${BASE64_SENDS} base64 sends of 40 MB at the same time stay under 600 MB and lose nothing`, async (t) => {
  const pid = server.pid();
  const before = await memoryOf(pid, 'VmRSS');
  const begun = performance.now();
  const [uploads, sends] = await Promise.all([
    Promise.all(Array.from({ length: UPLOADS }, (_, nth) => untilTaken(() => upload(nth)))),
    Promise.all(
      Array.from({ length: BASE64_SENDS }, (_, nth) => {
        const key = randomUUID();
        return untilTaken(() => sendBase64(nth, key));
      }),
    ),
  ]);
  const seconds = (performance.now() - begun) / 1000;
  const peak = await memoryOf(pid, 'VmHWM');
  const refusals = [...uploads, ...sends].reduce((sum, each) => sum + each.refusals, 0);
  t.diagnostic(
    `${seconds.toFixed(1)} s; resident before ${Math.round(before / MB)} MB, at most ${Math.round(peak / MB)} MB; ${refusals} times 503`,
  );
  assert.ok(peak < RSS_MAX_BYTES, `${Math.round(peak / MB)} MB`);
  for (const [nth, { answer }] of uploads.entries()) {
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    await stored(answer.body.media_id!, nth, UPLOAD_BYTES);
  }
  for (const [nth, { answer }] of sends.entries()) {
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    const message = await parts.db.query<{ media_id: string; content: { caption: string } }>(
      'SELECT media_id, content FROM messages WHERE id = $1',
      [answer.body.message_id],
    );
    assert.equal(message.rows[0]!.content.caption, 'behind it');
    await stored(message.rows[0]!.media_id, 1000 + nth, BASE64_BYTES);
  }
  assert.deepEqual(await readdir(path.join(dataDir, 'media', '.spool')), []);
});

async function stored(mediaId: string, nth: number, sizeBytes: number): Promise<void> {
  const found = await parts.db.query<{ sha: string; size_bytes: number }>(
    `SELECT encode(sha256, 'hex') AS sha, size_bytes FROM media WHERE id = $1`,
    [mediaId],
  );
  assert.deepEqual(found.rows[0], { sha: hashOf(nth, sizeBytes), size_bytes: sizeBytes });
}
