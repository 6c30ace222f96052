import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ensureProgram } from '@posthorn/test/support/debian-package.ts';
import { freePort, waitFor } from '@posthorn/test/support/process.ts';
import { reap } from '@posthorn/test/support/reaper.ts';
import { readDeployed } from './files.ts';

/** Stands in for messaging: it answers with its name, whether it is ready, and the headers of the proxy. */
interface Upstream {
  port: number;
  server: Server;
  isReady: boolean;
}

async function startUpstream(): Promise<Upstream> {
  const upstream: Upstream = { port: await freePort(), server: createServer(), isReady: true };
  upstream.server.on('request', ({ url, headers }, response) => {
    if (url === '/ready') return response.writeHead(upstream.isReady ? 200 : 503).end();
    return response.end(JSON.stringify({ port: upstream.port, headers }));
  });
  upstream.server.listen(upstream.port, '127.0.0.1');
  await once(upstream.server, 'listening');
  return upstream;
}

describe('the Caddyfile of compose.yaml', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'posthorn-proxy-'));
  const upstreams: Upstream[] = [];
  let caddy: ChildProcess;
  let url: string;

  before(async () => {
    await ensureProgram('caddy');
    for (let nth = 0; nth < 2; nth += 1) upstreams.push(await startUpstream());
    const [api, billing] = [await freePort(), await freePort()];
    url = `http://127.0.0.1:${api}`;
    const caddyfile = readDeployed('Caddyfile')
      .replace('messaging-1:8080', `127.0.0.1:${upstreams[0]!.port}`)
      .replace('messaging-2:8080', `127.0.0.1:${upstreams[1]!.port}`);
    writeFileSync(path.join(dir, 'Caddyfile'), `{\n\tadmin off\n}\n${caddyfile}`);
    const env = {
      PATH: process.env.PATH,
      HOME: dir,
      API_HOST: url,
      BILLING_HOST: `http://127.0.0.1:${billing}`,
    };
    caddy = spawn('caddy', ['run', '--config', path.join(dir, 'Caddyfile'), '--adapter', 'caddyfile'], {
      env,
      stdio: 'ignore',
    });
    reap({ pid: caddy.pid, dir });
    await waitFor(async () => (await fetch(url)).ok, 30_000);
  });
  after(async () => {
    const ended = once(caddy, 'exit');
    caddy.kill();
    await ended;
    for (const { server } of upstreams) server.close();
    rmSync(dir, { recursive: true, force: true });
  });

  async function ask(headers: Record<string, string> = {}) {
    const answer = await fetch(url, { headers });
    assert.equal(answer.status, 200);
    return (await answer.json()) as { port: number; headers: IncomingHttpHeaders };
  }
  const askedPorts = async (times: number) => {
    const answers = await Promise.all(Array.from({ length: times }, () => ask()));
    return [...new Set(answers.map(({ port }) => port))].sort();
  };

  it('leads to both servers, and gives them the real address of the client and not a claimed one', async () => {
    await waitFor(async () => (await askedPorts(20)).length === 2);
    const { headers } = await ask({ 'x-forwarded-for': '192.0.2.1' });
    assert.equal(headers['x-forwarded-for'], '127.0.0.1');
  });

  it('hides internal routes', async () => {
    for (const internal of ['/metrics', '/internal/v1/companies/1/cancel-subscriptions'])
      assert.equal((await fetch(`${url}${internal}`)).status, 404, internal);
  });

  it('leaves out a server that drains before it stops listening, without a failed request', async () => {
    const [first, second] = upstreams as [Upstream, Upstream];
    first.isReady = false;
    const since = performance.now();
    await waitFor(async () => (await askedPorts(20)).join() === String(second.port));
    const tookMs = performance.now() - since;
    // In production messaging serves for 5 s more.
    console.log(`the proxy left it out after ${Math.round(tookMs)} ms`);
    first.server.close();
    first.server.closeAllConnections();
    assert.deepEqual(await askedPorts(20), [second.port]);
  });

  it('tries the other server where one is gone without a word', async () => {
    const [first, second] = upstreams as [Upstream, Upstream];
    first.isReady = true;
    first.server.listen(first.port, '127.0.0.1');
    await waitFor(async () => (await askedPorts(20)).length === 2, 30_000);
    second.server.close();
    second.server.closeAllConnections();
    assert.deepEqual(await askedPorts(20), [first.port]);
  });
});
