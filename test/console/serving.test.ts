import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import { serveConsole } from '@posthorn/server/http/console.ts';
import { bare } from '../support/bare-request.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';

const FIRST_PAGE_MAX_BYTES = 200_000;

let messaging: TestMessaging;
before(async () => {
  messaging = await startTestMessaging({ PUBLIC_URL: 'https://api.example.com/posthorn/' });
});
after(() => messaging?.close());

const get = (path: string, encoding = 'identity', method = 'GET') =>
  bare(messaging.url + path, method, encoding);
const files = (page: string) =>
  [...page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map(([, file]) => file!);

describe('GET /console', () => {
  test('is the target of a redirect from /, behind any proxy', async () => {
    const root = await get('/');
    assert.equal(root.status, 302);
    assert.equal(root.headers.location, '/posthorn/console');
    assert.match(String((await get('/console')).body), /<base href="\/posthorn\/console\/">/);
  });

  for (const path of ['/console', '/console/', '/console/reset-password?token=x', '/console/a/b/c'])
    test(`${path} is the page, under a policy without inline scripts, and not to be framed`, async () => {
      const { status, headers, body } = await get(path);
      assert.equal(status, 200);
      const policy = String(headers['content-security-policy']);
      assert.match(policy, /default-src 'none'/);
      assert.match(policy, /script-src 'self';/);
      assert.match(policy, /frame-ancestors 'none'/);
      assert.doesNotMatch(policy, /unsafe/);
      assert.equal(headers['x-frame-options'], 'DENY');
      assert.equal(headers['referrer-policy'], 'no-referrer');
      assert.equal(headers['cache-control'], 'no-store');
      const nonce = /'nonce-([^']+)'/.exec(policy)?.[1];
      assert.ok(nonce && String(body).includes(`nonce="${nonce}"`));
      assert.ok(!String((await get(path)).headers['content-security-policy']).includes(nonce), 'used once');
    });

  test('loads hashed files, which are kept for a year and come compressed', async () => {
    const found = files(String((await get('/console')).body));
    assert.ok(found.length > 1);
    for (const file of found) {
      assert.match(file, /-[\w-]{8}\.(js|css)$/);
      const plain = await get(`/console/${file}`);
      assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable');
      const br = await get(`/console/${file}`, 'gzip, br');
      assert.equal(br.headers['content-encoding'], 'br');
      assert.ok(brotliDecompressSync(br.body).equals(plain.body));
      const gzip = await get(`/console/${file}`, 'gzip');
      assert.ok(gunzipSync(gzip.body).equals(plain.body));
      assert.equal((await get(`/console/${file}`, 'identity', 'HEAD')).body.length, 0);
    }
  });

  test(`has at most ${FIRST_PAGE_MAX_BYTES} bytes of compressed JavaScript on its first page`, async () => {
    const scripts = files(String((await get('/console')).body)).filter((file) => file.endsWith('.js'));
    const sizes = await Promise.all(
      scripts.map(async (file) => (await get(`/console/${file}`, 'gzip')).body.length),
    );
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(bytes > 0 && bytes <= FIRST_PAGE_MAX_BYTES, `${bytes} bytes`);
  });

  test('answers unknown files and other methods as everything else does', async () => {
    for (const path of ['/console/assets/none.js', '/console/assets/..%2Findex.html', '/consoles'])
      assert.equal((await get(path)).status, 404, path);
    assert.equal((await get('/console', 'identity', 'POST')).status, 404);
  });
});

test('an installation without the built console logs once how to get it', () => {
  const said: unknown[] = [];
  const app = { express: { use: () => undefined } };
  const deps = {
    log: { warn: (message: unknown) => said.push(message) },
    metrics: createMetrics(),
    publicUrl: 'http://127.0.0.1:8080',
    folder: pathToFileURL('/nowhere/'),
  };
  serveConsole(app as never, deps as never);
  assert.equal(said.length, 1);
  assert.match(String(said[0]), /the console is not built: run `npm ci && npm prune --omit=dev`/);
});
