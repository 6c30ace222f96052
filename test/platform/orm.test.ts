import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { defineEntity, p, UniqueConstraintViolationException } from '@mikro-orm/core';
import { isUnavailable } from '@posthorn/core/platform/database/database-errors.ts';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createOrm, type Orm } from '@posthorn/core/platform/database/orm.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { freePort } from '../support/process.ts';

const NoteSchema = defineEntity({
  name: 'Note',
  tableName: 'notes',
  properties: { id: p.integer().primary(), companyId: p.integer(), text: p.text() },
});
const CountrySchema = defineEntity({
  name: 'Country',
  tableName: 'countries',
  properties: { id: p.integer().primary(), name: p.text() },
});

describe('the tenant filter of the ORM', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let db: Db;
  let orm: Orm;

  before(async () => {
    database = await createTestDatabase();
    db = createDb({
      url: database.url,
      poolSize: 2,
      name: 'test',
      log: createLog({ level: 'silent', role: 'test' }),
    });
    await db.query('CREATE TABLE notes (id serial PRIMARY KEY, company_id int NOT NULL, text text UNIQUE)');
    await db.query('CREATE TABLE countries (id serial PRIMARY KEY, name text)');
    await db.query(`INSERT INTO notes (company_id, text) VALUES (1, 'ours'), (2, 'theirs')`);
    await db.query(`INSERT INTO countries (name) VALUES ('Brazil')`);
    orm = await createOrm({ url: database.url, entities: [NoteSchema], shared: [CountrySchema] });
  });
  after(async () => {
    await orm.close();
    await db.close();
    await database.drop();
  });

  test('a company reads its own rows and nobody else’s', async () => {
    const em = orm.forCompany(1);
    assert.deepEqual(
      (await em.find(NoteSchema, {})).map((note) => note.text),
      ['ours'],
    );
    assert.equal(await em.count(NoteSchema, {}), 1);
    assert.equal(await em.findOne(NoteSchema, { text: 'theirs' }), null);
    assert.equal(await em.findOne(NoteSchema, { companyId: 2 }), null);
  });

  test('without a company every read and set-based write of a tenant entity throws', async () => {
    const em = orm.fork();
    await assert.rejects(em.find(NoteSchema, {}), /filter 'company'/);
    await assert.rejects(em.findOne(NoteSchema, { id: 1 }), /filter 'company'/);
    await assert.rejects(em.count(NoteSchema, {}), /filter 'company'/);
    await assert.rejects(em.nativeUpdate(NoteSchema, { id: 1 }, { text: 'x' }), /filter 'company'/);
    await assert.rejects(em.nativeDelete(NoteSchema, { id: 1 }), /filter 'company'/);
    em.persist(em.create(NoteSchema, { companyId: 1, text: 'nobody said which company' }));
    await assert.rejects(em.flush(), /no company was set/);
    const { rows } = await db.query<{ n: number }>('SELECT count(*)::int AS n FROM notes');
    assert.equal(rows[0]!.n, 2);
  });

  test('set-based writes of a company leave the rows of another alone', async () => {
    const em = orm.forCompany(1);
    assert.equal(await em.nativeUpdate(NoteSchema, { text: 'theirs' }, { text: 'taken' }), 0);
    assert.equal(await em.nativeDelete(NoteSchema, { companyId: 2 }), 0);
  });

  test('a row of another company can’t be written by the unit of work', async () => {
    const em = orm.forCompany(1);
    em.persist(em.create(NoteSchema, { companyId: 2, text: 'smuggled' }));
    await assert.rejects(em.flush(), /written for company 1/);
  });

  test('the doors past the filter are shut: query builder, Kysely, bulk inserts', () => {
    const em = orm.forCompany(1);
    assert.throws(() => em.createQueryBuilder(NoteSchema), /tenant filter/);
    assert.throws(() => em.qb(NoteSchema), /tenant filter/);
    assert.throws(() => em.getKysely(), /tenant filter/);
    assert.throws(() => void em.insert(NoteSchema, { companyId: 2, text: 'x' }), /tenant/);
    assert.throws(() => void em.insertMany(NoteSchema, [{ companyId: 2, text: 'x' }]), /tenant/);
    assert.throws(() => void em.upsert(NoteSchema, { id: 2, companyId: 1, text: 'x' }), /tenant/);
  });

  test('a transaction keeps the company it was begun for', async () => {
    const texts = await orm.forCompany(2).transactional(async (em) => {
      assert.equal(await em.findOne(NoteSchema, { text: 'ours' }), null);
      return (await em.find(NoteSchema, {})).map((note) => note.text);
    });
    assert.deepEqual(texts, ['theirs']);
  });

  test('all companies are reached only by asking for them', async () => {
    assert.equal(await orm.forAllCompanies().count(NoteSchema, {}), 2);
  });

  test('an entity of no company is read by anybody, and has to be named as such', async () => {
    assert.equal(await orm.fork().count(CountrySchema, {}), 1);
    await assert.rejects(
      createOrm({ url: database.url, entities: [CountrySchema] }),
      /Country has no companyId/,
    );
  });

  test('a duplicate is distinguished from an outage, and an outage is recognized', async () => {
    const em = orm.forCompany(1);
    em.persist(em.create(NoteSchema, { companyId: 1, text: 'ours' }));
    const duplicate = await em.flush().catch((err: unknown) => err);
    assert.ok(duplicate instanceof UniqueConstraintViolationException);
    assert.equal(isUnavailable(duplicate), false);

    const nobody = await createOrm({
      url: `postgres://x:x@127.0.0.1:${await freePort()}/x`,
      entities: [NoteSchema],
    });
    const outage = await nobody
      .forCompany(1)
      .count(NoteSchema, {})
      .catch((err: unknown) => err);
    await nobody.close();
    assert.equal(isUnavailable(outage), true);
  });
});
