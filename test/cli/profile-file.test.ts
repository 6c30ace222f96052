import assert from 'node:assert/strict';
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { type HttpServer, json, startHttp } from '../sdk/http-server.ts';
import { type Cli, createCli } from './run-cli.ts';

const INSTANCE = '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01';

describe('the file of the profiles', () => {
  let server: HttpServer;
  let cli: Cli;
  beforeEach(async () => {
    server = await startHttp((res, { method }) =>
      method === 'GET'
        ? json(res, 200, { id: INSTANCE, name: 'sales' })
        : json(res, 202, { message_id: 'm1' }),
    );
    cli = createCli({ POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_x' });
    mkdirSync(path.dirname(cli.config));
  });
  afterEach(async () => {
    cli.remove();
    await server.close();
  });

  test('may be a link, as to a folder of settings: its target is changed, and the link stays', async () => {
    const target = path.join(path.dirname(path.dirname(cli.config)), 'dotfiles');
    mkdirSync(target);
    writeFileSync(path.join(target, 'posthorn.json'), '{"accounts": {}}');
    symlinkSync(path.join(target, 'posthorn.json'), cli.config);
    const { code, stderr } = await cli.run(['instances', 'use', INSTANCE]);
    assert.equal(code, 0, stderr);
    assert.ok(lstatSync(cli.config).isSymbolicLink());
    const { accounts } = JSON.parse(readFileSync(path.join(target, 'posthorn.json'), 'utf8'));
    assert.equal(accounts[server.url].instance_id, INSTANCE);
    assert.equal(statSync(cli.config).mode & 0o777, 0o600);
    assert.deepEqual(
      [readdirSync(target), readdirSync(path.dirname(cli.config))],
      [['posthorn.json'], ['config.json']],
    );
  });

  test('is not read by a command that is told everything that it could hold', async () => {
    writeFileSync(cli.config, '{"accounts": ');
    const send = ['send', 'text', '--to', '+5511999990000', '--text', 'Hello', '--instance', INSTANCE];
    const { code, stderr } = await cli.run(send);
    assert.deepEqual([code, stderr], [0, '']);
    // Without an address or a key, it would be needed.
    for (const missing of ['POSTHORN_URL', 'POSTHORN_API_KEY']) {
      const { code, stderr } = await cli.run(send, { [missing]: '' });
      assert.equal(code, 1);
      assert.match(stderr, /config\.json is not valid JSON: mend it or delete it/);
    }
  });
});
