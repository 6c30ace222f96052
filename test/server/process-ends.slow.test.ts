import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { tellFigure } from '../support/figures.ts';
import { baseEnv, freePort, projectRoot, waitFor } from '../support/process.ts';
import { seedInstance } from '../support/seed.ts';
import { MESSAGING, useMessagingProcess } from './messaging-process.ts';

describe('the messaging server as a process', () => {
  const server = useMessagingProcess();

  test('a bad setting stops the start with one line that names it', async () => {
    const faults = [
      [{ PORT: 'eighty' }, /^.*PORT.*$/],
      [{ ENCRYPTION_KEY: 'short' }, /^.*ENCRYPTION_KEY: .*$/],
      [{ DATABASE_URL: '' }, /^.*DATABASE_URL is required$/],
      // With the host taken for a scheme, the origin of the console would be `null`, which any page can have.
      [{ FRONTEND_URL: 'app.example.com:3000' }, /^.*FRONTEND_URL: must be a URL with http.*$/],
      // A timer of more than 24 days fires at once.
      [{ HTTP_TIMEOUT: '3000000' }, /^.*HTTP_TIMEOUT: .*86400.*$/],
      [{ REFRESH_TTL_DAYS: '1000000000' }, /^.*REFRESH_TTL_DAYS: .*36500.*$/],
      [{ PASSWORD_RESET_TTL: '1000000000000' }, /^.*PASSWORD_RESET_TTL: .*525600.*$/],
      [{ PUBLIC_URL: 'localhost:8080' }, /^.*PUBLIC_URL: must be a URL with http.*$/],
      [
        { DATABASE_URL: `postgres://x:x@127.0.0.1:${await freePort()}/x` },
        /^.*database cannot be reached.*$/,
      ],
    ] as const;
    for (const [more, line] of faults) {
      const child = spawn(process.execPath, [MESSAGING], {
        cwd: projectRoot,
        env: { ...baseEnv(), ...server.envOf(await freePort(), more), LOG_LEVEL: 'silent' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk) => {
          output += chunk;
        });
      const [code] = await once(child, 'close');
      assert.equal(code, 1);
      assert.match(output.trim(), line);
      assert.equal(output.trim().split('\n').length, 1, output);
    }
  });

  test('an event stream ends with the server, and does not delay it', async () => {
    // If this delayed its end, it would exit with 1 after the grace period.
    const { url, running } = await server.start({ SHUTDOWN_GRACE_SECONDS: '60' });
    const stream = await fetch(`${url}/v1/events/stream`, {
      headers: { 'x-api-key': server.owner().apiKey },
    });
    assert.equal(stream.status, 200);
    const text = stream.text();
    const begun = performance.now();
    assert.equal(await running.kill('SIGTERM'), 0);
    tellFigure('the end of a server with an event stream', performance.now() - begun, { atMost: 3_000 });
    assert.match(await text, /event: ?end/);
  });

  test('a connection that was opened ahead and never used does not delay the end', async () => {
    const { port, running } = await server.start({ SHUTDOWN_GRACE_SECONDS: '30' });
    const silent = connect(port, '127.0.0.1');
    await once(silent, 'connect');
    const closed = once(silent, 'close');
    const begun = performance.now();
    assert.equal(await running.kill('SIGTERM'), 0);
    assert.ok(performance.now() - begun < 20_000);
    await closed;
  });

  test('a second signal exits at once with 1', async () => {
    const { url, running } = await server.start({ SHUTDOWN_GRACE_SECONDS: '60' });
    const id = await seedInstance(server.parts().db, server.owner().companyId, {
      state: 'PAIRING',
      wanted: 'connected',
    });
    const waiting = fetch(`${url}/v1/instances/${id}/qr`, {
      headers: { 'x-api-key': server.owner().apiKey },
    }).catch(() => null);
    await server.looksForCode();
    const ended = running.kill('SIGTERM');
    await waitFor(() => running.output().includes('draining'));
    running.signal('SIGINT');
    assert.equal(await ended, 1);
    assert.equal(await waiting, null);
  });
});
