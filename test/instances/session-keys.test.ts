import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createSessionKeys, createSessionKeyWriter } from '@posthorn/core/instances/keep-session-keys.ts';
import { LeaseLost } from '@posthorn/core/instances/lock-leases.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

let parts: Parts;
let company: SeededCompany;
const cipher = createCipher('5a'.repeat(32));
before(async () => {
  parts = await createParts();
  company = await seedCompany(parts.db);
});
after(() => parts.close());

function writer(db = parts.db) {
  return createSessionKeyWriter({ ...parts, db, cipher });
}

async function keysOf(epoch = 1, instanceId?: string) {
  const id = instanceId ?? (await seedInstance(parts.db, company.companyId));
  await parts.db.query('UPDATE shards SET epoch = 1 WHERE shard = 0');
  const scope = { companyId: company.companyId, instanceId: id, lease: { shard: 0, epoch } };
  return { id, keys: createSessionKeys({ ...parts, cipher, keyWriter: writer() }, scope) };
}

test('the last value that was written for a kind and id is read back, and null removes it', async () => {
  const { keys } = await keysOf();
  await keys.write([
    { kind: 'session', id: 'a', value: { n: 1 } },
    { kind: 'session', id: 'b', value: 'two' },
    { kind: 'session', id: 'a', value: { n: 3 } },
    { kind: 'pre-key', id: 'a', value: 4 },
  ]);
  assert.deepEqual(
    await keys.read('session', ['a', 'b', 'c']),
    new Map<string, unknown>([
      ['a', { n: 3 }],
      ['b', 'two'],
    ]),
  );
  await keys.write([
    { kind: 'session', id: 'a', value: null },
    { kind: 'session', id: 'd', value: 5 },
  ]);
  assert.deepEqual(
    await keys.read('session'),
    new Map<string, unknown>([
      ['b', 'two'],
      ['d', 5],
    ]),
  );
  assert.deepEqual(await keys.read('pre-key'), new Map([['a', 4]]));
  await keys.clear();
  assert.equal((await keys.read('session')).size + (await keys.read('pre-key')).size, 0);
});

test('session keys cannot be read out of the database, and another instance sees none of them', async () => {
  const { id, keys } = await keysOf();
  await keys.write([{ kind: 'creds', id: 'me', value: 'a very secret key' }]);
  const { rows } = await parts.db.query<{ sealed: Buffer }>(
    'SELECT sealed FROM session_keys WHERE instance_id = $1',
    [id],
  );
  assert.equal(rows.length, 1);
  assert.ok(!rows[0]!.sealed.toString('latin1').includes('secret'));
  const other = await keysOf();
  assert.equal((await other.keys.read('creds')).size, 0);
});

test('a worker that has lost the shard neither reads nor writes, and a failed write leaves nothing', async () => {
  const { id, keys } = await keysOf();
  await keys.write([{ kind: 'session', id: 'a', value: 1 }]);
  const late = (await keysOf(0, id)).keys;
  await assert.rejects(late.read('session'), LeaseLost);
  await assert.rejects(late.write([{ kind: 'session', id: 'a', value: 2 }]), LeaseLost);
  await assert.rejects(late.clear(), LeaseLost);
  // A key that PostgreSQL refuses fails the others of its write too.
  const refused = [
    { kind: 'session', id: 'a', value: null },
    { kind: 'session', id: 'bad\0', value: 3 },
  ];
  await assert.rejects(keys.write(refused));
  assert.deepEqual(await keys.read('session'), new Map([['a', 1]]));
});

test('keys of an instance that was deleted are not written any more', async () => {
  const { id, keys } = await keysOf();
  await parts.db.query('DELETE FROM instances WHERE id = $1', [id]);
  await keys.write([{ kind: 'session', id: 'a', value: 1 }]);
  assert.equal((await keys.read('session')).size, 0);
});

test('a removal finds its rows by probes, however many keys the instance has', async (t) => {
  const hot = createDb({ url: parts.url, poolSize: 1, log: parts.log, name: 'plans', plans: 'indexed' });
  t.after(() => hot.close());
  const id = await seedInstance(parts.db, company.companyId);
  const scope = { companyId: company.companyId, instanceId: id, lease: { shard: 0, epoch: 1 } };
  const keys = createSessionKeys({ db: hot, cipher, keyWriter: writer(hot) }, scope);
  const stanza = (nth: number, value: unknown) => ({ kind: 'stanza', id: `id ${nth}`, value });
  await keys.write(Array.from({ length: 3_000 }, (_, nth) => stanza(nth, nth)));
  const read = async () => {
    await hot.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await hot.query<{ read: number }>(
      `SELECT sum(idx_tup_read) AS read FROM pg_stat_user_indexes WHERE relname = 'session_keys'`,
    );
    return Number(rows[0]!.read);
  };
  const before = await read();
  await keys.write(Array.from({ length: 10 }, (_, nth) => stanza(nth, null)));
  const entries = (await read()) - before;
  assert.ok(entries <= 20, `${entries} index entries were read to remove 10 keys`);
  assert.equal((await keys.read('stanza')).size, 2_990);
});

test('sessions that write at the same time share a transaction, and a lost lease or a refused row fails only its own session', async () => {
  const keyWriter = writer();
  const open = async (epoch: number, companyId = company.companyId) => {
    const id = await seedInstance(parts.db, company.companyId);
    const scope = { companyId, instanceId: id, lease: { shard: 0, epoch } };
    return { id, keys: createSessionKeys({ ...parts, cipher, keyWriter }, scope) };
  };
  const [one, other, late, deleted] = [await open(1), await open(1), await open(0), await open(1)];
  await parts.db.query('DELETE FROM instances WHERE id = $1', [deleted.id]);
  const rows = (id: string) => [
    { kind: 'session', id, value: id },
    { kind: 'session', id: 'gone', value: null },
  ];
  await Promise.all([one, other].map(({ keys }) => keys.write([{ kind: 'session', id: 'gone', value: 1 }])));
  const [, , lost] = await Promise.allSettled([
    ...[one, other, late, deleted].map(({ keys }) => keys.write(rows('a'))),
  ]);
  const { rows: transactions } = await parts.db.query(
    'SELECT DISTINCT xmin::text FROM session_keys WHERE instance_id = ANY($1)',
    [[one.id, other.id]],
  );
  assert.equal(transactions.length, 1);
  assert.ok(lost?.status === 'rejected' && lost.reason instanceof LeaseLost);
  for (const { keys } of [one, other]) assert.deepEqual(await keys.read('session'), new Map([['a', 'a']]));
  for (const { id } of [late, deleted])
    assert.equal(
      (await parts.db.query('SELECT FROM session_keys WHERE instance_id = $1', [id])).rows.length,
      0,
    );

  const refused = [{ kind: 'session', id: 'a zero \0', value: 1 }];
  const [bad, good] = await Promise.allSettled([one.keys.write(refused), other.keys.write(rows('b'))]);
  assert.deepEqual([bad.status, good.status], ['rejected', 'fulfilled']);
  assert.deepEqual([...(await other.keys.read('session')).keys()].sort(), ['a', 'b']);
});
