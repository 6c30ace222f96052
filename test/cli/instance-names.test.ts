import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type HttpServer, json, startHttp } from '../sdk/http-server.ts';
import { type Cli, createCli } from './run-cli.ts';

const names = Array.from({ length: 201 }, (_, at) => `n${at}`);

let server: HttpServer;
let cli: Cli;
before(async () => {
  server = await startHttp((res, { url }) => {
    if (!url.startsWith('/v1/instances?')) return json(res, 200, { id: url });
    const page = Number(new URL(url, 'http://x').searchParams.get('page') ?? 1);
    const data = names.map((name, at) => ({ id: `id-${at}`, name })).slice((page - 1) * 200, page * 200);
    json(res, 200, { data, total: names.length, page, limit: 200 });
  });
  cli = createCli({ POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_x' });
});
after(async () => {
  cli.remove();
  await server.close();
});

test('an instance is found by its name on whichever page it is', async () => {
  const found = await cli.json(['instances', 'get', '--instance', 'n200']);
  assert.deepEqual(found, { id: '/v1/instances/id-200' });
});

test('a name that several instances have, or none, is refused', async () => {
  names.push('n0');
  const doubled = await cli.run(['instances', 'get', '--instance', 'n0']);
  assert.deepEqual(
    [doubled.code, doubled.stderr],
    [2, 'msgctl: 2 instances are called n0: name one by its id\n'],
  );
  const missing = await cli.run(['instances', 'get', '--instance', 'other']);
  assert.deepEqual(
    [missing.code, missing.stderr],
    [5, 'msgctl: there is no instance other: msgctl instances list\n'],
  );
});
