import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { findRunningService } from '@posthorn/cli/running-service.ts';
import { listen } from '../support/listen.ts';
import { type Cli, createCli } from './run-cli.ts';

/** Above the pid of any process. */
const NO_PID = 2 ** 30;

describe('msgctl in a checkout whose npm start runs', () => {
  let server: Server;
  let url: string;
  let checkout: string;
  let cli: Cli;
  before(async () => {
    server = createServer((request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ status: 'ready', service: request.headers.host }));
    });
    url = `http://127.0.0.1:${await listen(server)}`;
    checkout = mkdtempSync(path.join(tmpdir(), 'posthorn-checkout-'));
    mkdirSync(path.join(checkout, '.data'));
    mkdirSync(path.join(checkout, 'docs'));
    cli = createCli({}, { cwd: path.join(checkout, 'docs') });
  });
  afterEach(() => rmSync(path.join(checkout, '.data/addresses.json'), { force: true }));
  after(() => {
    cli.remove();
    rmSync(checkout, { recursive: true });
    server.close();
  });

  function note(addresses: Record<string, unknown>): void {
    writeFileSync(path.join(checkout, '.data/addresses.json'), JSON.stringify(addresses));
  }
  const running = () => ({
    pid: process.pid,
    POSTHORN_URL: url,
    POSTHORN_BILLING_URL: url,
    POSTHORN_SANDBOX_URL: url,
  });

  it('finds its services on any ports, from any of its folders', async () => {
    note(running());
    assert.deepEqual(findRunningService(path.join(checkout, 'docs')), {
      url,
      billingUrl: url,
      sandboxUrl: url,
    });
    for (const command of [['health'], ['billing', 'health']]) {
      const { code, stdout, stderr } = await cli.run(command);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /ready/);
    }
  });

  it('takes an address that is given instead', async () => {
    note({ ...running(), POSTHORN_URL: 'http://127.0.0.1:1' });
    const given = await cli.run(['health', '--url', url]);
    assert.equal(given.code, 0, given.stderr);
    assert.equal((await cli.run(['health'], { POSTHORN_URL: url })).code, 0);
  });

  it('leaves a profile that is for another machine alone', async () => {
    note(running());
    const config = path.join(checkout, 'config.json');
    writeFileSync(config, JSON.stringify({ default_url: 'http://api.posthorn.invalid', accounts: {} }));
    const { code, stderr } = await cli.run(['health'], { POSTHORN_CONFIG: config });
    assert.notEqual(code, 0);
    assert.match(stderr, /api\.posthorn\.invalid/);
  });

  it('finds none where it has ended, and none on another machine', () => {
    note({ ...running(), pid: NO_PID });
    assert.equal(findRunningService(checkout), null);
    note({ ...running(), POSTHORN_URL: 'http://203.0.113.7:8080' });
    assert.equal(findRunningService(checkout), null);
    writeFileSync(path.join(checkout, '.data/addresses.json'), '{');
    assert.equal(findRunningService(checkout), null);
  });
});
