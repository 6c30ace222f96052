import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { statementOfRows } from '@posthorn/core/platform/database/input-rows.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createTestDatabase } from '@posthorn/test/support/postgres.ts';

const READ = statementOfRows({
  name: 'read-back',
  sets: {
    rows: {
      id: 'uuid',
      camelCase: 'text',
      integer: 'integer',
      bigint: 'bigint',
      smallint: 'smallint',
      real: 'real',
      flag: 'boolean',
      at: 'timestamptz',
      data: 'jsonb',
    },
    others: { name: 'text' },
  },
  values: ['first', 'second'],
  text: ({ rows, others, first, second }) => `
WITH rows AS ${rows}, others AS ${others}
SELECT coalesce((SELECT json_agg(r) FROM rows r), '[]') AS rows,
       coalesce((SELECT json_agg(o.name) FROM others o), '[]') AS others, ${first}::text AS first, ${second}::integer AS second`,
});

type GivenRow = Parameters<typeof READ>[0]['rows'][number];

const ID = '0198c0de-b0a7-7000-8000-000000000001';
const TEXTS = [
  '',
  'NULL',
  'null',
  ' blanks around ',
  'a,b',
  '{a,b}',
  '"quoted"',
  `it's`,
  'back\\slash \\" \\n',
  '$1',
  '(a,"b")',
  'line\nbreak\ttab\r',
  'ü 😀 \u2028 \u0001 e\u0301',
  'x'.repeat(70_000),
];
const ROWS: GivenRow[] = [
  { id: ID },
  { id: ID, camelCase: null, integer: undefined, data: null },
  ...TEXTS.map((text) => ({
    id: ID,
    camelCase: text,
    data: { text, list: [text, null, { [`k${text}`]: 1 }] },
  })),
  { id: ID, integer: -2_147_483_648, bigint: Number.MAX_SAFE_INTEGER, smallint: -32_768, real: 0.1 },
  { id: ID, flag: true, at: new Date('2026-03-29T01:30:00.123Z') },
  { id: ID, flag: false, at: '2026-03-29T01:30:00.123Z' },
  { id: ID, data: [] },
  { id: ID, data: ['a', 1] },
  { id: ID, data: {} },
  { id: ID, data: 'text' },
  { id: ID, data: 0 },
  { id: ID, data: false },
];

describe('rows that a statement takes', () => {
  let db: Db;
  let drop: () => Promise<void>;
  before(async () => {
    const database = await createTestDatabase();
    drop = database.drop;
    const log = createLog({ level: 'silent', role: 'test' });
    db = createDb({ url: database.url, log, name: 'test', poolSize: 1, plans: 'indexed' });
  });
  after(async () => {
    await db.close();
    await drop();
  });

  async function read(rows: readonly GivenRow[], others: readonly string[]) {
    const named = others.map((name) => ({ name }));
    const found = await db.query<{ rows: object[]; others: string[]; first: string; second: number }>(
      READ({ rows, others: named }, { first: 'one', second: 2 }),
    );
    const [row] = found.rows;
    assert.deepEqual({ first: row!.first, second: row!.second }, { first: 'one', second: 2 });
    return row!;
  }

  test('are the same rows whether they are few or many, with any content', async () => {
    const { rows: many } = await read(ROWS, []);
    assert.equal(many.length, ROWS.length);
    for (const [nth, row] of ROWS.entries()) {
      const { rows: one } = await read([row], []);
      assert.deepEqual(one, [many[nth]], `row ${nth}`);
      const { rows: two } = await read([row, ROWS[0]!], []);
      assert.deepEqual(two, [many[nth], many[0]], `row ${nth} and another`);
    }
    for (const [nth, text] of TEXTS.entries())
      assert.partialDeepStrictEqual(many[nth + 2], { camelCase: text });
    const times = many as { at: string | null }[];
    assert.equal(new Date(times.at(-8)!.at!).toISOString(), '2026-03-29T01:30:00.123Z');
    assert.equal(times.at(-7)!.at, times.at(-8)!.at);
  });

  test('come in their order and in their sets, in any number', async () => {
    for (let count = 0; count < 6; count += 1)
      for (let otherCount = 0; otherCount < 6; otherCount += 1) {
        const rows = Array.from({ length: count }, (_, nth) => ({ integer: nth }));
        const others = Array.from({ length: otherCount }, (_, nth) => `other ${nth}`);
        const found = await read(rows, others);
        assert.deepEqual(
          (found.rows as { integer: number }[]).map(({ integer }) => integer),
          [...rows.keys()],
        );
        assert.deepEqual(found.others, others);
      }
  });

  test('make few prepared statements, with one text for each name', () => {
    const texts = new Map<string, string>();
    for (let count = 0; count < 40; count += 1)
      for (let otherCount = 0; otherCount < 40; otherCount += 1) {
        const rows = Array.from({ length: count }, () => ({ id: ID }));
        const others = Array.from({ length: otherCount }, () => ({ name: 'other' }));
        const { name, text } = READ({ rows, others }, { first: '', second: 0 });
        assert.equal(texts.get(name!) ?? text, text, name);
        texts.set(name!, text);
      }
    assert.deepEqual([...texts.keys()].sort(), [
      'read-back',
      'read-back-0-0',
      'read-back-0-1',
      'read-back-0-2',
      'read-back-1-0',
      'read-back-1-1',
      'read-back-2-0',
    ]);
  });

  test('that PostgreSQL cannot read fail the statement, and the connection stays of use', async () => {
    const wrong: GivenRow[] = [{ id: 'none' }, { integer: 'many' }, { camelCase: 'a\0b' }, { data: 'a\0b' }];
    for (const row of wrong)
      for (const rows of [[row], [row, {}, {}]]) await assert.rejects(read(rows, []), /invalid|unsupported/);
    assert.equal((await read([{ id: ID }], [])).rows.length, 1);
  });
});
