import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type HttpServer, json, startHttp } from '../sdk/http-server.ts';
import { baseEnv, projectRoot } from '../support/process.ts';

const ID = '0198c0de-0000-7000-8000-000000000001';
const OURS = { 'x-trace-id': ID, 'x-content-type-options': 'nosniff' };
const HEALTHY = { status: 'ok', service: 'messaging' };
const QUEUED = { status: 'queued', message_id: ID, task_id: ID, idempotency_key: 'k' };
const SEND = `/v1/instances/${ID}/messages/text`;

type Given = [status: number, body: unknown, headers?: Record<string, string>];

/** The answer of a server to `METHOD /path`, and the fault that the check must report; null for none. */
const ANSWERS: Record<string, { asked: string; given: Given; said: RegExp | null }> = {
  'what its document says': { asked: 'GET /health', given: [200, HEALTHY], said: null },
  'what the document of billing says': {
    asked: 'GET /v1/billing/plans',
    given: [200, { data: [] }],
    said: null,
  },
  'a status that is not documented': {
    asked: `POST ${SEND}`,
    given: [418, {}],
    said: /POST \/v1\/instances\/.+\/text -> 418: messages.sendText answered 418, which is not documented/,
  },
  'a type of content that is not documented': {
    asked: 'GET /health',
    given: [200, HEALTHY, { 'content-type': 'text/html' }],
    said: /GET \/health -> 200: .+ as text\/html, which is not documented \(openapi\/messaging.json\)/,
  },
  'a body that does not fit': {
    asked: `POST ${SEND}`,
    given: [202, { ...QUEUED, task_id: 1 }],
    said: /-> 202: messages.sendText 202: .*task_id must be string/,
  },
  'a place that no document knows': {
    asked: 'GET /v1/secrets',
    given: [200, {}],
    said: /GET \/v1\/secrets -> 200: no document has this operation/,
  },
  'that there is no such place': { asked: 'GET /v1/secrets', given: [404, {}], said: null },
  'as the server of a test does': {
    asked: 'GET /health',
    given: [418, {}, { 'x-content-type-options': '' }],
    said: null,
  },
};

/** Asks like a test, or with a second argument like a program that a test starts. */
const PROGRAM = `
import { execFileSync } from 'node:child_process';
const [asked, isChild] = process.argv.slice(2);
const [method, url] = asked.split(' ');
if (isChild) {
  const { watchedEnv } = await import(process.env.WATCHED_ENV);
  execFileSync(process.execPath, [process.argv[1], asked], { env: { ...process.env, ...watchedEnv() } });
} else {
  const answer = await fetch(url, { method });
  process.stdout.write(await answer.text());
}
`;

describe('an answer that a test or one of its programs fetches', () => {
  const support = (file: string) => path.join(projectRoot, 'test/support/answers', file);
  let folder: string;
  let program: string;
  let server: HttpServer;
  let given: Given = [200, {}];
  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'posthorn-answers-'));
    program = path.join(folder, 'program.mjs');
    writeFileSync(program, PROGRAM);
    server = await startHttp((res) => {
      const [status, body, headers] = given;
      json(res, status, body, { ...OURS, ...headers });
    });
  });
  after(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });

  function ask(asked: string, ...more: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const args = [
      '--import',
      support('check-answers-main.ts'),
      program,
      asked.replace(' ', ` ${server.url}`),
    ];
    const env = { ...baseEnv(), WATCHED_ENV: support('watched-env.ts') };
    return new Promise((resolve) => {
      execFile(process.execPath, [...args, ...more], { env }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
      );
    });
  }

  for (const [what, answer] of Object.entries(ANSWERS))
    it(`${answer.said ? 'fails its test' : 'passes'}: ${what}`, async () => {
      given = answer.given;
      const { code, stdout, stderr } = await ask(answer.asked);
      assert.deepEqual(JSON.parse(stdout), given[1], 'the caller has the body all the same');
      if (answer.said === null) assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
      else {
        assert.equal(code, 1);
        assert.match(stderr, answer.said);
        assert.match(stderr, /1 answers in .+program\.mjs are not what the OpenAPI documents say/);
      }
    });

  it('fails its test when a program got it that the test has started', async () => {
    given = [200, { status: 'well', service: 'messaging' }];
    const { code, stderr } = await ask('GET /health', 'child');
    assert.equal(code, 1);
    assert.match(stderr, /GET \/health -> 200: health.health 200: /);
    given = [200, HEALTHY];
    assert.deepEqual(await ask('GET /health', 'child'), { code: 0, stdout: '', stderr: '' });
  });

  it('is passed on as it comes when it is no JSON: a stream is not waited for', async () => {
    const stream = await startHttp((res) => {
      res.writeHead(200, { ...OURS, 'content-type': 'text/event-stream' }).write(': open\n\n');
    });
    try {
      const file = path.join(folder, 'stream.mjs');
      writeFileSync(
        file,
        `const answer = await fetch(process.argv[2]);
const { value } = await answer.body.getReader().read();
console.log(Buffer.from(value).toString().trim());
process.exit();`,
      );
      const args = ['--import', support('check-answers-main.ts'), file, `${stream.url}/v1/events/stream`];
      const told = await new Promise((resolve) => {
        execFile(process.execPath, args, { env: baseEnv() }, (_, stdout, stderr) => resolve(stdout + stderr));
      });
      assert.equal(told, ': open\n');
    } finally {
      await stream.close();
    }
  });
});
