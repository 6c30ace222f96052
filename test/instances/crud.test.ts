import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { DEFAULT_SHARDS, shardOf } from '@posthorn/core/instances/shard.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

describe('instances of a company', () => {
  let api: TestMessaging;
  let owner: SeededCompany;
  let other: SeededCompany;
  before(async () => {
    api = await startTestMessaging({ SUPERADMIN_EMAILS: 'root@platform.test' });
    owner = await seedCompany(api.parts.db);
    other = await seedCompany(api.parts.db);
  });
  after(() => api.close());

  const create = (name: string, key = owner.apiKey, more = {}) =>
    api.call('POST', '/v1/instances', { key, body: { name, ...more } });

  test('a new instance is CREATED, has the network of the installation and a shard of its own for ever', async () => {
    const { status, body } = await create('Support desk');
    assert.equal(status, 201);
    assert.deepEqual(
      { ...body, id: '', created_at: '', updated_at: '' },
      {
        id: '',
        company_id: owner.companyId,
        name: 'Support desk',
        driver: 'sandbox',
        state: 'CREATED',
        phone: null,
        jid: null,
        push_name: null,
        connected_at: null,
        last_error: null,
        restriction: null,
        proxy: null,
        created_at: '',
        updated_at: '',
      },
    );
    const { rows } = await api.parts.db.query<{ shard: number }>(
      'SELECT shard FROM instances WHERE id = $1',
      [body.id],
    );
    assert.equal(rows[0]!.shard, shardOf(body.id, DEFAULT_SHARDS));
    assert.deepEqual((await api.call('GET', `/v1/instances/${body.id}`, { key: owner.apiKey })).body, body);
  });

  test('a name has 3 to 80 characters, counted as people see them', async () => {
    for (const name of ['ab', '  ab  ', 'x'.repeat(81), 'tab\there', '👍👍'])
      assert.deepEqual(
        [(await create(name)).status, (await create(name)).body.error_code],
        [400, 'INVALID_INSTANCE_NAME'],
        name,
      );
    for (const name of ['abc', 'x'.repeat(80), '👍👍👍'])
      assert.equal((await create(name)).status, 201, name);
  });

  test('a name is unique in a company, in any case, and may be used in another', async () => {
    assert.equal((await create('Sales')).status, 201);
    const twice = await create('sALES');
    assert.deepEqual([twice.status, twice.body.error_code], [409, 'DUPLICATE_INSTANCE_NAME']);
    assert.equal((await create('Sales', other.apiKey)).status, 201);
  });

  test('one of many simultaneous creations under one name succeeds', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => create('The one')));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [
      201,
      ...Array.from({ length: 11 }, () => 409),
    ]);
  });

  test('a network that is not installed is refused', async () => {
    const { status, body } = await create('Elsewhere', owner.apiKey, { driver: 'carrier-pigeon' });
    assert.deepEqual([status, body.error_code], [400, 'BAD_REQUEST']);
    assert.match(body.message, /sandbox/);
  });

  test('the free limit is 5, also when 20 are asked for at the same time; deleting makes room', async () => {
    const free = await seedCompany(api.parts.db);
    await api.parts.db.query('UPDATE companies SET max_instances = NULL WHERE id = $1', [free.companyId]);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => create(`number ${i}`, free.apiKey)),
    );
    const made = answers.filter(({ status }) => status === 201);
    assert.equal(made.length, 5);
    const refused = answers.find(({ status }) => status !== 201)!;
    assert.deepEqual([refused.status, refused.body.error_code], [403, 'PLAN_LIMIT_REACHED']);
    assert.equal(
      (await api.call('DELETE', `/v1/instances/${made[0]!.body.id}`, { key: free.apiKey })).status,
      204,
    );
    assert.equal((await create('one more', free.apiKey)).status, 201);
  });

  test('the list has the newest first, in pages, and only the company’s own', async () => {
    const fresh = await seedCompany(api.parts.db);
    const names = ['first', 'second', 'third'];
    for (const name of names) await create(name, fresh.apiKey);
    const list = async (query: string) => {
      const { body } = await api.call('GET', `/v1/instances?${query}`, { key: fresh.apiKey });
      return { ...body, data: body.data.map((instance: { name: string }) => instance.name) };
    };
    assert.deepEqual(await list(''), { data: ['third', 'second', 'first'], total: 3, page: 1, limit: 50 });
    assert.deepEqual(await list('limit=2&page=2'), { data: ['first'], total: 3, page: 2, limit: 2 });
    assert.deepEqual(await list('state=CONNECTED'), { data: [], total: 0, page: 1, limit: 50 });
  });

  test('renaming keeps the rules of names; without a name nothing changes', async () => {
    const { body } = await create('Before');
    const patch = (changes: object) =>
      api.call('PATCH', `/v1/instances/${body.id}`, { key: owner.apiKey, body: changes });
    assert.equal((await patch({ name: 'After' })).body.name, 'After');
    assert.equal((await patch({})).body.name, 'After');
    assert.equal(
      (await patch({ name: 'AFTER' })).status,
      200,
      'its own name in another case is no duplicate',
    );
    await create('Taken');
    assert.equal((await patch({ name: 'taken' })).body.error_code, 'DUPLICATE_INSTANCE_NAME');
    assert.equal((await patch({ name: 'x' })).body.error_code, 'INVALID_INSTANCE_NAME');
  });

  test('deleting takes its waiting messages, guards and webhooks along, and leaves the others’', async () => {
    const { db } = api.parts;
    const gone = (await create('Short-lived')).body.id;
    const stays = (await create('Long-lived')).body.id;
    for (const id of [gone, stays]) {
      await db.query(
        `INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, created_at)
         VALUES (gen_random_uuid(), $1, $2, 0, 'text', now())`,
        [owner.companyId, id],
      );
      await db.query(
        `INSERT INTO webhooks (company_id, instance_id, url, patterns, secret) VALUES ($1, $2, 'https://x.test', '{*}', '\\x00')`,
        [owner.companyId, id],
      );
    }
    assert.equal((await api.call('DELETE', `/v1/instances/${gone}`, { key: owner.apiKey })).status, 204);
    for (const [id, left] of [
      [gone, 0],
      [stays, 1],
    ] as const) {
      for (const table of ['outbox', 'webhooks']) {
        const { rows } = await db.query<{ n: number }>(
          `SELECT count(*)::int AS n FROM ${table} WHERE instance_id = $1`,
          [id],
        );
        assert.equal(rows[0]!.n, left, table);
      }
    }
    const again = await api.call('DELETE', `/v1/instances/${gone}`, { key: owner.apiKey });
    assert.deepEqual([again.status, again.body.error_code], [404, 'INSTANCE_NOT_FOUND']);
  });

  test('deleting removes all that is kept of the instance, and no transaction removes more than 5,000 rows of it', async () => {
    const { db } = api.parts;
    const [gone, stays] = [(await create('Large')).body.id, (await create('Small')).body.id];
    const rows = 6_000;
    const fill = async (id: string, count: number) => {
      const jids = `SELECT $1::uuid AS id, $2::integer AS company, nth || '@s.whatsapp.net' AS jid, nth FROM generate_series(1, $3) AS nth`;
      const of = (insert: string) =>
        db.query(insert.replace('FROM jids', `FROM (${jids}) AS jids`), [id, owner.companyId, count]);
      await of(
        `INSERT INTO chats (instance_id, company_id, chat_jid, active_at, updated_at) SELECT id, company, jid, now(), now() FROM jids`,
      );
      await of(
        `INSERT INTO contacts (instance_id, company_id, jid, name, updated_at) SELECT id, company, jid, jid, now() FROM jids`,
      );
      await of(
        `INSERT INTO chat_guards (instance_id, company_id, chat_jid, score_at) SELECT id, company, jid, now() FROM jids`,
      );
      await of(
        `INSERT INTO session_keys (instance_id, company_id, kind, id, sealed) SELECT id, company, 'session', jid, '' FROM jids`,
      );
    };
    await fill(gone, rows);
    await fill(stays, 1);
    const tables = ['chats', 'contacts', 'chat_guards', 'session_keys'];
    await db.query('CREATE TABLE removed_rows (tx text, removed bigint)');
    await db.query(`
      CREATE FUNCTION note_removed() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO removed_rows SELECT pg_current_xact_id()::text, count(*) FROM removed;
        RETURN NULL;
      END $$`);
    for (const table of tables)
      await db.query(
        `CREATE TRIGGER note AFTER DELETE ON ${table} REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION note_removed()`,
      );
    assert.equal((await api.call('DELETE', `/v1/instances/${gone}`, { key: owner.apiKey })).status, 204);
    for (const table of tables) {
      const { rows: left } = await db.query(
        `SELECT instance_id, count(*) AS n FROM ${table} WHERE instance_id IN ($1, $2) GROUP BY 1`,
        [gone, stays],
      );
      assert.deepEqual(left, [{ instance_id: stays, n: 1 }], table);
    }
    const { rows: noted } = await db.query<{ most: number; all: number }>(
      `SELECT max(removed)::integer AS most, sum(removed)::integer AS all
       FROM (SELECT sum(removed) AS removed FROM removed_rows GROUP BY tx) AS transactions`,
    );
    assert.equal(noted[0]!.all, rows * tables.length);
    assert.ok(noted[0]!.most <= 5_000, `one transaction removed ${noted[0]!.most} rows`);
  });

  test('a superadmin reaches the instance of any company by its id, and lists only the platform’s', async () => {
    const { rows } = await api.parts.db.query<{ id: number }>(
      `SELECT id FROM users WHERE email = 'root@platform.test'`,
    );
    const principal = { ...owner.principal, companyId: 1, userId: rows[0]!.id, role: 'superadmin' as const };
    const root = { ...owner, companyId: 1, userId: rows[0]!.id, principal };
    const jwt = await api.jwtOf(root, { isSuperadmin: true });
    const id = await seedInstance(api.parts.db, other.companyId);
    const found = await api.call('GET', `/v1/instances/${id}`, { jwt });
    assert.deepEqual([found.status, found.body.company_id], [200, other.companyId]);
    assert.equal(found.headers.get('x-ratelimit-limit'), null, 'superadmins are not limited');
    assert.equal((await api.call('GET', '/v1/instances', { jwt })).body.total, 0);
  });
});
