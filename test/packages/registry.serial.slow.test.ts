import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { json, startHttp } from '../sdk/http-server.ts';
import { projectRoot } from '../support/process.ts';
import { startRegistry } from '../support/registry.ts';

const run = promisify(execFile);

const PROGRAM = `
import { createClient } from '@posthorn/sdk';
const client = createClient({ baseUrl: process.argv[2], apiKey: 'svc_x' });
const { data } = await client.instances.list();
console.log(data.length);
`;

test('the released files, published to a registry: users install the SDK and msgctl by name, and both ask a service', async (t) => {
  const registry = await startRegistry();
  const folder = mkdtempSync(path.join(tmpdir(), 'posthorn-published-'));
  const service = await startHttp((res) => json(res, 200, { data: [], total: 0, page: 1, limit: 50 }));
  t.after(async () => {
    await registry.stop();
    await service.close();
    rmSync(folder, { recursive: true });
  });
  const { env } = registry;
  const packed = path.join(folder, 'packed');
  await run('npm', ['run', '--silent', 'release:pack', '--', '--into', packed], { cwd: projectRoot, env });
  for (const name of ['sdk', 'cli']) {
    const [file] = globSync(`posthorn-${name}-*.tgz`, { cwd: packed });
    await run('npm', ['publish', path.join(packed, file!)], { cwd: folder, env });
  }

  const user = path.join(folder, 'user');
  mkdirSync(user);
  writeFileSync(path.join(user, 'package.json'), '{"type":"module"}');
  writeFileSync(path.join(user, 'program.js'), PROGRAM);
  await run('npm', ['install', '@posthorn/sdk', '@posthorn/cli'], { cwd: user, env });
  const program = await run(process.execPath, ['program.js', service.url], { cwd: user, env });
  assert.equal(program.stdout, '0\n');
  const msgctl = await run('npx', ['--no-install', 'msgctl', 'instances', 'list', '--json'], {
    cwd: user,
    env: { ...env, POSTHORN_URL: service.url, POSTHORN_API_KEY: 'svc_x' },
  });
  assert.deepEqual(JSON.parse(msgctl.stdout).data, []);
  assert.deepEqual(
    service.seen.map(({ url }) => new URL(url ?? '', service.url).pathname),
    ['/v1/instances', '/v1/instances'],
  );

  const again = await run(
    'npm',
    ['publish', path.join(packed, globSync('posthorn-sdk-*.tgz', { cwd: packed })[0]!)],
    {
      cwd: folder,
      env,
    },
  ).catch((err) => err);
  assert.match(
    String(again.stderr),
    /E409|EPUBLISHCONFLICT|previously published|already present/,
    'a version is published once',
  );
});
