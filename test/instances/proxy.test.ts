import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';

let api: TestMessaging;
let owner: SeededCompany;
before(async () => {
  api = await startTestMessaging({ NETWORK_DRIVERS: 'sandbox,whatsapp' });
  owner = await seedCompany(api.parts.db);
});
after(() => api.close());

const PROXY = 'socks5://ada:hush@proxy.example:1080';

function create(name: string, body: object = {}) {
  return api.call('POST', '/v1/instances', { key: owner.apiKey, body: { name, ...body } });
}
function update(id: string, body: object) {
  return api.call('PATCH', `/v1/instances/${id}`, { key: owner.apiKey, body });
}

test('an instance is on the network that it names, of those that are offered, and on the first without', async () => {
  const other = await create('On WhatsApp', { driver: 'whatsapp' });
  assert.deepEqual([other.status, other.body.driver, other.body.proxy], [201, 'whatsapp', null]);
  assert.equal((await create('On the first')).body.driver, 'sandbox');
  const refused = await create('Elsewhere', { driver: 'telegraph' });
  assert.deepEqual([refused.status, refused.body.error_code], [400, 'BAD_REQUEST']);
  assert.match(refused.body.message, /sandbox, whatsapp/);
});

test('a proxy is shown without its password and stored sealed', async () => {
  const { status, body } = await create('By proxy', { driver: 'whatsapp', proxy: PROXY });
  assert.deepEqual([status, body.proxy], [201, 'socks5://ada@proxy.example:1080']);
  const read = await api.call('GET', `/v1/instances/${body.id}`, { key: owner.apiKey });
  assert.ok(!read.text.includes('hush'));
  const { rows } = await api.parts.db.query<{ row: string }>(
    'SELECT i::text AS row FROM instances i WHERE id = $1',
    [body.id],
  );
  assert.ok(!rows[0]!.row.includes('hush'));
});

test('another proxy opens the session anew, and null takes it away', async () => {
  const { body } = await create('Moving', { driver: 'whatsapp' });
  const generation = async () => {
    const { rows } = await api.parts.db.query<{ generation: number }>(
      'SELECT generation FROM instances WHERE id = $1',
      [body.id],
    );
    return rows[0]!.generation;
  };
  const moved = await update(body.id, { proxy: 'http://proxy.example:3128' });
  assert.deepEqual(
    [moved.status, moved.body.proxy, await generation()],
    [200, 'http://proxy.example:3128', 1],
  );
  const renamed = await update(body.id, { name: 'Moved' });
  assert.deepEqual([renamed.body.proxy, await generation()], ['http://proxy.example:3128', 1]);
  const direct = await update(body.id, { proxy: null });
  assert.deepEqual([direct.body.proxy, await generation()], [null, 2]);
});

test('400 for a private address in every notation, also one that only some programs read', async () => {
  const { body } = await create('Notations', { driver: 'whatsapp' });
  const hosts = [
    ...[
      '127.0.0.1',
      '127.1',
      '0x7f.1',
      '0X7F.0.0.1',
      '2130706433',
      '0x7f000001',
      '017700000001',
      '0177.1',
      '0',
    ],
    ...[
      '127.0.0.1.',
      '127.1.',
      '%31%32%37.1',
      '１２７.0.0.1',
      '127。0。0。1',
      '10.1',
      '0xa9fea9fe',
      '192.168.257',
    ],
    ...[
      'localhost',
      'LOCALHOST',
      'LocalHost',
      'localhost.',
      'LOCALHOST.',
      'a.localhost',
      '%6cocalhost',
      'ⓛocalhost',
    ],
    ...[
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[0:0:0:0:0:0:0:1]',
      '[fd00::1]',
      '[64:ff9b::10.0.0.1]',
    ],
    ...['256.256.256.256', '1.2.3.4.5', '0x'],
  ];
  for (const host of hosts)
    for (const proxy of [
      `socks5://${host}:1080`,
      `http://${host}:3128`,
      `socks5://user:secret@${host}:1080`,
    ]) {
      const { status, body: answer } = await update(body.id, { proxy });
      assert.deepEqual([status, answer.error_code], [400, 'BAD_REQUEST'], proxy);
    }
  for (const proxy of [
    'socks5://8.8.8.8:1080',
    'socks5://Proxy.Example.:1080',
    'socks5://[2606:4700::1]:1080',
  ])
    assert.equal((await update(body.id, { proxy })).status, 200, proxy);
});

test('400 for a proxy of another kind, at a private address, or on a network that takes none', async () => {
  const { body } = await create('Steady', { driver: 'whatsapp' });
  const table = [
    'ftp://proxy.example',
    'not an address',
    'http://proxy.example/path',
    'http://10.0.0.1:3128',
    'socks5://[::1]:1080',
    'http://localhost:3128',
    'http://%zz:secret@proxy.example:3128',
    'socks5://user:%@proxy.example:1080',
  ];
  for (const proxy of table) {
    const { status, body: answer } = await update(body.id, { proxy });
    assert.deepEqual([status, answer.error_code], [400, 'BAD_REQUEST'], proxy);
  }
  const onSandbox = await create('Sandboxed', { proxy: PROXY });
  assert.deepEqual([onSandbox.status, onSandbox.body.error_code], [400, 'BAD_REQUEST']);
});
