import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { DEFAULT_REQUESTS_PER_MINUTE } from '@posthorn/contract/limits.ts';
import { type Answer, type HttpServer, json, refuse, startHttp } from '../sdk/http-server.ts';
import { baseEnv, projectRoot } from '../support/process.ts';
import { ensurePython } from '../support/python-install.ts';

const DOCUMENT = JSON.parse(readFileSync(path.join(projectRoot, 'openapi/messaging.json'), 'utf8'));

/** Makes one call and prints its answer, or the error that a program would catch. */
const PROGRAM = `
import json, sys
from posthorn import Client, PosthornError
client = Client(sys.argv[1], "svc_x")
try:
    print(json.dumps(client.call(sys.argv[2], **json.loads(sys.argv[3]))))
except PosthornError as error:
    print(json.dumps([error.status, error.code]))
`;

describe('the client in Python', () => {
  let answer: Answer;
  let server: HttpServer;
  before(async () => {
    ensurePython();
    server = await startHttp((res, request, index) =>
      request.url === '/openapi.json' ? json(res, 200, DOCUMENT) : answer(res, request, index),
    );
  });
  after(() => server.close());

  /** Resolves to the output of the call, and to how often it asked the service. */
  async function call(operation: string, args: object): Promise<[unknown, number]> {
    const from = server.seen.length;
    const { stdout } = await promisify(execFile)(
      'python3',
      ['-B', '-c', PROGRAM, server.url, operation, JSON.stringify(args)],
      {
        cwd: path.join(projectRoot, 'examples/python'),
        env: baseEnv(),
        timeout: 60_000,
        killSignal: 'SIGKILL',
      },
    );
    return [JSON.parse(stdout), server.seen.slice(from).filter(({ url }) => url !== '/openapi.json').length];
  }
  const create = { body: { name: 'sales' } };

  test('makes nothing twice after a 503, which may have come after the change was made', async () => {
    answer = (res) => refuse(res, 503, 'SERVICE_UNAVAILABLE', {}, { 'retry-after': '0' });
    assert.deepEqual(await call('instances.create', create), [[503, 'SERVICE_UNAVAILABLE'], 1]);
  });

  test('tries again what may be repeated, and anything after a 429', async () => {
    let count = 0;
    answer = (res) => {
      count += 1;
      if (count % 2 === 0) return json(res, 200, { id: 'made' });
      refuse(res, count === 1 ? 503 : 429, 'LATER', {}, { 'retry-after': '0' });
    };
    assert.deepEqual(await call('instances.list', {}), [{ id: 'made' }, 2]);
    assert.deepEqual(await call('instances.create', create), [{ id: 'made' }, 2]);
  });

  test('waits for a message with fewer requests than a company without a plan may make', async () => {
    const READS = 4;
    const readAtMs: number[] = [];
    answer = (res, { method }) => {
      if (method === 'POST') return json(res, 202, { message_id: 'm' });
      readAtMs.push(performance.now());
      json(res, 200, { message_id: 'm', status: readAtMs.length < READS ? 'sent' : 'delivered' });
    };
    await promisify(execFile)('python3', ['-B', 'send_and_wait.py', '5511999990000', 'Hello'], {
      cwd: path.join(projectRoot, 'examples/python'),
      env: {
        ...baseEnv(),
        POSTHORN_URL: server.url,
        POSTHORN_API_KEY: 'svc_x',
        POSTHORN_INSTANCE: 'i',
      },
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    const tookMs = readAtMs.at(-1)! - readAtMs[0]!;
    assert.ok(
      ((READS - 1) * 60_000) / tookMs < DEFAULT_REQUESTS_PER_MINUTE,
      `${READS} reads in ${tookMs} ms`,
    );
  });

  test('leaves a wait of an hour to the program', async () => {
    answer = (res) => refuse(res, 429, 'RATE_LIMITED', {}, { 'retry-after': '3600' });
    assert.deepEqual(await call('instances.list', {}), [[429, 'RATE_LIMITED'], 1]);
  });

  test('tries again after the 502 of a proxy, and not after that of the service', async () => {
    const send = {
      instanceId: 'i',
      body: { to: '5511999990000', media_url: 'https://a.example/gone.png' },
    };
    answer = (res) => refuse(res, 502, 'MEDIA_FETCH_FAILED');
    assert.deepEqual(await call('messages.sendImage', send), [[502, 'MEDIA_FETCH_FAILED'], 1]);
    let count = 0;
    answer = (res) => {
      count += 1;
      if (count === 2) return json(res, 202, { message_id: 'm' });
      res.writeHead(502, { 'content-type': 'text/html', 'retry-after': '0' }).end('<h1>Bad gateway</h1>');
    };
    assert.deepEqual(await call('messages.sendImage', send), [{ message_id: 'm' }, 2]);
  });

  test('reports a refusal that breaks off by its status', async () => {
    answer = (res) => {
      res.writeHead(409, { 'content-type': 'application/json', 'content-length': 1000 });
      res.write('{"error_code":', () => res.destroy());
    };
    assert.deepEqual(await call('instances.create', create), [[409, 'BAD_RESPONSE'], 1]);
  });
});
