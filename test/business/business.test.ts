import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { png } from '../media/samples.ts';
import { listen } from '../support/listen.ts';
import { seedInstance } from '../support/seed.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

let pipeline: Sending;
let instance: TestInstance;
let images: Server;
let imagesUrl: string;
/** The number of requests to the image server, by path. */
const asked = new Map<string, number>();
let picture: Buffer;

/** Simulates the network's CDN, good and bad. */
function serveImage(request: IncomingMessage, response: ServerResponse): void {
  const path = request.url ?? '';
  asked.set(path, (asked.get(path) ?? 0) + 1);
  if (path.startsWith('/good')) response.writeHead(200, { 'content-type': 'image/png' }).end(picture);
  else if (path === '/fails') response.writeHead(500).end();
  else if (path === '/lies')
    response.writeHead(200, { 'content-type': 'image/png' }).end('<html>not a picture</html>');
  else if (path === '/large') {
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': String(6 * 1024 * 1024) });
    response.write(picture);
  } else if (path === '/redirects') {
    const { port } = canary.address() as AddressInfo;
    response.writeHead(302, { location: `http://127.0.0.1:${port}/good` }).end();
  } else if (path === '/moved') response.writeHead(302, { location: '/good-moved' }).end();
  // `/hangs` is never answered.
}

let reached = 0;
const canary = createServer((_request, response) => {
  reached += 1;
  response.writeHead(200, { 'content-type': 'image/png' }).end(picture);
});

before(async () => {
  picture = await png();
  images = createServer(serveImage);
  const host = `127.0.0.1:${await listen(images)}`;
  await listen(canary);
  imagesUrl = `http://${host}`;
  pipeline = await startSending({
    env: { MEDIA_PRIVATE_HOSTS: host, PUBLIC_URL: 'https://api.example.test' },
  });
  instance = await pipeline.connect();
});
after(async () => {
  images.closeAllConnections();
  await pipeline.close();
  images.close();
  canary.close();
});

const get = (path: string, who = instance) => pipeline.call(who, 'GET', `/business${path}`);
const shop = (phone: string, body: object) => pipeline.sandbox.post(`/phones/${phone}/business`, body);

/** A shop with these pictures, one a product. */
async function shopWith(...paths: string[]): Promise<string> {
  const phone = pipeline.newPhone();
  await shop(phone, {
    products: paths.map((path, i) => ({
      id: `p${i}`,
      name: `Product ${i}`,
      price: 100 + i,
      image_url: path === '' ? '' : imagesUrl + path,
    })),
  });
  return phone;
}

async function imagesOf(phone: string): Promise<string[]> {
  const { status, body, text } = await get(`/catalog?jid=${phone}`);
  assert.equal(status, 200, text);
  return body.products.map((product: { image_url: string }) => product.image_url);
}

describe('the business profile', () => {
  const facts = {
    address: 'Rua A, 1',
    description: 'Flowers for every day',
    email: 'shop@example.test',
    categories: [{ id: '7', name: 'Flowers' }],
    business_hours_timezone: 'America/Sao_Paulo',
    business_hours: [{ day_of_week: 'mon', mode: 'specific_hours', open_time: '0900', close_time: '1800' }],
  };

  test('is read by phone or JID for somebody else, and without either for the own account', async () => {
    const phone = pipeline.newPhone();
    await shop(phone, facts);
    const expected = { jid: `${phone}@s.whatsapp.net`, ...facts };
    for (const jid of [phone, `%2B${phone}`, `${phone}@s.whatsapp.net`])
      assert.deepEqual((await get(`/profile?jid=${jid}`)).body, expected);
    await shop(instance.phone, { email: 'own@example.test' });
    for (const path of ['/profile', '/profile?jid=']) {
      const { body } = await get(path);
      assert.deepEqual([body.jid, body.email], [instance.jid, 'own@example.test']);
    }
  });

  test('is 404 NOT_FOUND for an account that is no business', async () => {
    const { status, body } = await get(`/profile?jid=${pipeline.newPhone()}`);
    assert.deepEqual([status, body.error_code], [404, 'NOT_FOUND']);
  });
});

describe('the catalog', () => {
  test('has 10 products a page, and an opaque cursor for the next page', async () => {
    const phone = await shopWith(...Array.from({ length: 23 }, () => ''));
    const seen: string[] = [];
    let cursor: string | undefined;
    const sizes: number[] = [];
    do {
      const { body } = await get(`/catalog?jid=${phone}${cursor === undefined ? '' : `&cursor=${cursor}`}`);
      sizes.push(body.products.length);
      seen.push(...body.products.map((product: { id: string }) => product.id));
      cursor = body.next_page_cursor;
    } while (cursor !== undefined);
    assert.deepEqual(sizes, [10, 10, 3]);
    assert.deepEqual(
      seen,
      Array.from({ length: 23 }, (_, i) => `p${i}`),
    );
    assert.equal((await get(`/catalog?jid=${phone}&limit=100`)).body.products.length, 23);
    assert.equal((await get(`/catalog?jid=${phone}&limit=101`)).body.products.length, 23);
  });

  test('has every field of a product', async () => {
    const phone = pipeline.newPhone();
    const given = {
      id: 'p1',
      name: 'Rose',
      description: 'Red',
      retailer_id: 'sku-1',
      url: 'https://shop.example.test/rose',
      price: 1990,
      currency: 'BRL',
      is_hidden: true,
      review_status: 'pending',
    };
    await shop(phone, { products: [given] });
    assert.deepEqual((await get(`/catalog?jid=${phone}`)).body, { products: [{ ...given, image_url: '' }] });
  });

  test('is empty for a business without one', async () => {
    const phone = pipeline.newPhone();
    await pipeline.sandbox.post('/phones', { phone, business: true });
    assert.deepEqual((await get(`/catalog?jid=${phone}`)).body, { products: [] });
    assert.deepEqual((await get(`/collections?jid=${phone}`)).body, { collections: [] });
  });

  for (const [what, query, code] of [
    ['a limit of 0', 'limit=0', 'BAD_REQUEST'],
    ['a limit that is none', 'limit=many', 'BAD_REQUEST'],
    ['a cursor that is none', 'cursor=!!', 'BAD_REQUEST'],
    [
      'a cursor of the network’s refusal',
      `cursor=${Buffer.from('elsewhere').toString('base64url')}`,
      'BAD_REQUEST',
    ],
    ['a group', 'jid=120363012345@g.us', 'INVALID_RECIPIENT'],
    ['no phone', 'jid=12', 'INVALID_PHONE'],
  ] as const) {
    test(`${what}: 400 ${code}`, async () => {
      const { status, body } = await get(`/catalog?${query}`);
      assert.deepEqual([status, body.error_code], [400, code]);
    });
  }
});

describe('pictures', () => {
  test('are served by this service, and fetched once', async () => {
    const phone = await shopWith('/good-1', '/good-2', '/good-1');
    const first = await imagesOf(phone);
    for (const url of first)
      assert.match(
        url,
        new RegExp(`^https://api.example.test/v1/instances/${instance.id}/media/[0-9a-f-]{36}$`),
      );
    assert.equal(first[0], first[2]);
    assert.deepEqual(await imagesOf(phone), first);
    assert.deepEqual([asked.get('/good-1'), asked.get('/good-2')], [1, 1]);
    const mediaId = first[0]!.split('/').at(-1);
    const response = await fetch(`${pipeline.api.url}/v1/instances/${instance.id}/media/${mediaId}`, {
      headers: { 'x-api-key': pipeline.company.apiKey },
    });
    assert.equal(response.headers.get('content-type'), 'image/png');
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), picture);
    const info = await pipeline.call(instance, 'GET', `/media/${mediaId}/info`);
    const keptMs = Date.parse(info.body.expires_at) - Date.parse(info.body.created_at);
    assert.equal(keptMs, 7 * 86_400_000);
  });

  test('are fetched from their new address when they have moved', async () => {
    assert.notEqual((await imagesOf(await shopWith('/moved')))[0], '');
  });

  for (const path of ['/fails', '/lies', '/large', '/redirects', '/hangs'])
    test(`a server that ${path.slice(1)} leaves image_url empty, and the catalog answers`, async () => {
      const startedMs = performance.now();
      const phone = await shopWith(path, `/good${path.replace('/', '-')}`);
      const [bad, good] = await imagesOf(phone);
      assert.equal(bad, '');
      assert.notEqual(good, '');
      assert.ok(performance.now() - startedMs < 15_000);
      // A failed fetch is not repeated at once.
      assert.deepEqual((await imagesOf(phone))[0], '');
      assert.equal(asked.get(path), 1);
      assert.equal(reached, 0, 'the private address was not reached');
    });

  test('that hang in large number cost 10 seconds, and nothing else', async () => {
    const phone = await shopWith(...Array.from({ length: 40 }, (_, i) => `/hangs-${i}`));
    const startedMs = performance.now();
    const { body } = await get(`/catalog?jid=${phone}&limit=40`);
    assert.ok(performance.now() - startedMs < 20_000);
    assert.equal(body.products.length, 40);
    assert.ok([...asked.keys()].filter((path) => path.startsWith('/hangs-')).length <= 18);
  });
});

describe('collections', () => {
  test('have their products, 51 collections at most by default', async () => {
    const phone = pipeline.newPhone();
    await shop(phone, {
      products: [
        { id: 'a', name: 'A', image_url: `${imagesUrl}/good-a` },
        { id: 'b', name: 'B' },
      ],
      collections: Array.from({ length: 60 }, (_, i) => ({
        id: `c${i}`,
        name: `Collection ${i}`,
        product_ids: i === 0 ? ['a', 'b'] : [],
      })),
    });
    const { body } = await get(`/collections?jid=${phone}`);
    assert.equal(body.collections.length, 51);
    const [first] = body.collections;
    assert.deepEqual([first.id, first.name, first.status], ['c0', 'Collection 0', 'approved']);
    assert.deepEqual(
      first.products.map((product: { id: string; image_url: string }) => [
        product.id,
        product.image_url !== '',
      ]),
      [
        ['a', true],
        ['b', false],
      ],
    );
    assert.equal((await get(`/collections?jid=${phone}&limit=2`)).body.collections.length, 2);
    assert.equal((await get(`/collections?jid=${phone}&limit=100`)).body.collections.length, 60);
  });
});

describe('business data that cannot be asked for', () => {
  for (const [state, code] of [
    ['DISCONNECTED', 'INSTANCE_NOT_CONNECTED'],
    ['BANNED', 'INSTANCE_BANNED'],
    ['HARD_PAUSED', 'INSTANCE_HARD_PAUSED'],
  ] as const)
    test(`409 ${code} while the instance is ${state}`, async () => {
      const id = await seedInstance(pipeline.api.parts.db, pipeline.company.companyId, { state });
      for (const path of ['/profile', '/catalog', '/collections']) {
        const { status, body } = await get(path, { ...instance, id });
        assert.deepEqual([status, body.error_code], [409, code], path);
      }
    });
});
