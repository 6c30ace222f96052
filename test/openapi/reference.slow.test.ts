import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { AHEAD } from '@posthorn/contract/field-docs/sample-values.ts';
import { DAY_MS } from '@posthorn/core/platform/durations.ts';
import { startTestBilling, type TestBilling } from '../billing/billing-harness.ts';
import { bare } from '../support/bare-request.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { readDocument, SERVICES } from '../support/openapi-documents.ts';
import { waitFor } from '../support/process.ts';
import { watchPage } from '../support/watched-page.ts';

let messaging: TestMessaging;
let billing: TestBilling;
before(async () => {
  messaging = await startTestMessaging({ PUBLIC_URL: 'https://api.example.com/' });
  billing = await startTestBilling();
});
after(async () => {
  await messaging?.close();
  await billing?.close();
});

const publicUrls = { messaging: 'https://api.example.com', billing: 'https://billing.example.com' };

for (const service of SERVICES)
  describe(`the reference of ${service}`, () => {
    const urlOf = (path: string) => (service === 'messaging' ? messaging : billing).url + path;

    test('GET /openapi.json is the published document with this installation as its server, and times to come', async () => {
      const { clock } = (service === 'messaging' ? messaging : billing).parts;
      // A process that has run for as long as scheduled sends may lie ahead.
      clock.advance(400 * DAY_MS);
      const response = await fetch(urlOf('/openapi.json'));
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
      assert.deepEqual(await response.json(), {
        ...JSON.parse(JSON.stringify(readDocument(service)).replaceAll(AHEAD, inAWeek(clock.now()))),
        servers: [{ url: publicUrls[service] }],
      });
    });

    for (const path of ['/openapi.json', '/docs', '/docs/reference.js']) {
      test(`GET ${path} is kept by its ETag`, async () => {
        const response = await fetch(urlOf(path));
        await response.arrayBuffer();
        const tag = response.headers.get('etag') ?? '';
        assert.match(tag, /^"[\w-]{43}"$/);
        assert.match(response.headers.get('cache-control') ?? '', /must-revalidate/);
        for (const known of [tag, `W/${tag}`, `"other", ${tag}`]) {
          const again = await fetch(urlOf(path), { headers: { 'if-none-match': known } });
          assert.equal(again.status, 304, known);
          assert.equal(await again.text(), '');
        }
        assert.equal((await fetch(urlOf(path), { headers: { 'if-none-match': '"other"' } })).status, 200);
      });

      test(`GET ${path} is the same compressed, plain and asked for by HEAD`, async () => {
        const plain = await bare(urlOf(path), 'GET', 'identity');
        const gzipped = await bare(urlOf(path), 'GET', 'gzip, br');
        assert.equal(gzipped.headers['content-encoding'], 'gzip');
        assert.equal(plain.headers['content-encoding'], undefined);
        assert.ok(gunzipSync(gzipped.body).equals(plain.body));
        const head = await bare(urlOf(path), 'HEAD', 'identity');
        assert.equal(head.headers['content-length'], String(plain.body.length));
        assert.equal(head.body.length, 0);
      });
    }

    test('GET /docs draws every part of the API in a browser and asks nobody else', async () => {
      const page = await watchPage(urlOf('/docs'));
      try {
        const tags = readDocument(service).tags.map(({ name }) => name);
        const text = async () => String(await page.evaluate('document.body.innerText'));
        const isDrawn = async () => {
          const shown = await text();
          return tags.every((tag) => shown.includes(tag));
        };
        await waitFor(isDrawn, 60_000, {
          what: `the reference of ${service} is drawn`,
          everyMs: 250,
        });
        assert.match(await text(), /--header 'X-API-Key: YOUR_SECRET_TOKEN'/);
        assert.doesNotMatch(await text(), /--header 'X-Force-Send/);
        const origin = new URL(urlOf('/')).origin;
        const foreign = page.requests.filter((url) => !url.startsWith(origin) && !/^(data|blob):/.test(url));
        assert.deepEqual(foreign, []);
        assert.ok(page.requests.includes(`${origin}/openapi.json`));
        assert.deepEqual(page.errors, []);
      } finally {
        await page.close();
      }
    });
  });

/** The first moment of the day in a week. */
function inAWeek(now: Date): string {
  return new Date(Math.floor(now.getTime() / DAY_MS + 7) * DAY_MS).toISOString();
}
