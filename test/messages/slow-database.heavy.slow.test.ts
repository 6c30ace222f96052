import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { png } from '../media/samples.ts';
import { tellFigure } from '../support/figures.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { freePort, type RunningProcess, startProcess } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';
import { openSlowLink, type SlowLink } from '../support/slow-link.ts';

/** The time of a database answer: two statements take less than the time of a request, three take more. */
const ANSWER_MS = 4_500;
const AIM_MS = 10_500;
/** The time of a request, and one more answer. */
const NEVER_MS = 10_000 + ANSWER_MS;
const TO = '5531000000002';
/** As many as there are requests: a new connection would need several answers of the database to open. */
const CONNECTIONS = 12;

let parts: Parts;
let link: SlowLink;
let messaging: RunningProcess;
let url: string;

before(async () => {
  parts = await createParts();
  const database = new URL(parts.url);
  link = await openSlowLink({ host: database.hostname, port: Number(database.port) });
  database.port = String(link.port);
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  messaging = await startProcess({
    entry: 'server/messaging/main.ts',
    env: {
      NODE_ENV: 'test',
      DATABASE_URL: database.href,
      DATABASE_POOL_SIZE: String(CONNECTIONS),
      AMQP_URL: 'amqp://127.0.0.1:1',
      JWT_SECRET: 'a secret of the tests, long enough for HS256',
      ENCRYPTION_KEY: '5a'.repeat(32),
      PORT: String(port),
    },
    ready: { url: `${url}/ready` },
  });
});
after(async () => {
  link?.setDelay(0);
  await messaging?.kill('SIGTERM');
  await link?.close();
  await parts?.close();
});

test('a database that answers every statement late: a send is answered within 10 s however many it needs', async () => {
  const send = async ({ company, instanceId, key, path, body }: Send) => {
    const sinceMs = performance.now();
    const answer = await fetch(`${url}/v1/instances/${instanceId}/messages/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': company.apiKey, 'idempotency-key': key },
      body: JSON.stringify(body),
    });
    const { message_id, error_code } = (await answer.json()) as { message_id?: string; error_code?: string };
    const retryAfter = Number(answer.headers.get('retry-after'));
    return { status: answer.status, error_code, message_id, retryAfter, tookMs: performance.now() - sinceMs };
  };
  /** A send of a company that this process has never seen, or one of a known company that quotes a message. */
  const prepare = async (
    path: string,
    bodyOf: (quotedId?: string) => object,
    quotes: boolean,
  ): Promise<Send> => {
    const company = await seedCompany(parts.db);
    const instanceId = await seedInstance(parts.db, company.companyId);
    const known = { company, instanceId };
    const text = { to: TO, text: 'the one that is quoted' };
    const quoted = quotes && (await send({ ...known, key: randomUUID(), path: 'text', body: text }));
    return { ...known, key: randomUUID(), path, body: bodyOf(quoted ? quoted.message_id : undefined) };
  };
  const picture = (await png()).toString('base64');
  const table = Buffer.from('a,b').toString('base64');
  const sendAt = new Date(Date.now() + 86_400_000).toISOString();
  const sends: Send[] = [];
  for (const quotes of [true, false]) {
    const bodies: [string, (quotedId?: string) => object][] = [
      ['text', (quoted_id) => ({ to: TO, text: 'a text', quoted_id })],
      ['image', (quoted_id) => ({ to: TO, media_base64: picture, quoted_id })],
      ['document', (quoted_id) => ({ to: TO, media_base64: table, quoted_id })],
      [
        'scheduled',
        (quoted_id) => ({ type: 'text', send_at: sendAt, body: { to: TO, text: 'later', quoted_id } }),
      ],
    ];
    for (const [path, bodyOf] of bodies) sends.push(await prepare(path, bodyOf, quotes));
  }

  // All connections are open before the database is slow.
  await Promise.all(
    Array.from({ length: CONNECTIONS }, () => fetch(`${url}/ready`).then((answer) => answer.text())),
  );
  link.setDelay(ANSWER_MS);
  const answers = await Promise.all(sends.map(send));
  link.setDelay(0);
  // A text in a known company takes two answers of the database, and is accepted.
  const refused = answers.filter(({ status }) => status !== 202);
  assert.ok(refused.length >= sends.length - 2, `${refused.length} of ${sends.length} take longer`);
  for (const { status, error_code, retryAfter } of refused) {
    assert.deepEqual([status, error_code], [503, 'SERVICE_UNAVAILABLE']);
    assert.ok(retryAfter > 0, 'it says when to come again');
  }
  const slowestMs = Math.max(...answers.map(({ tookMs }) => tookMs));
  tellFigure('the slowest send while each answer of PostgreSQL took 4.5 s', slowestMs, { atMost: AIM_MS });
  assert.ok(slowestMs < NEVER_MS, `${slowestMs} ms`);
});

interface Send {
  company: SeededCompany;
  instanceId: string;
  key: string;
  path: string;
  body: object;
}
