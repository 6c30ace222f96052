import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AccountServer, startAccountServer } from '../accounts/support/account-server.ts';
import { refused } from '../accounts/support/api-client.ts';
import { newOwner, type Person } from '../accounts/support/people.ts';
import { newSuperadmin, ROOT_EMAIL } from '../accounts/support/superadmin.ts';
import { seedInstance } from '../support/seed.ts';

describe('GET /v1/admin/instances', () => {
  let server: AccountServer;
  let root: Person;
  let owners: Person[];
  /** Newest first. */
  let ids: string[];
  before(async () => {
    server = await startAccountServer({ SUPERADMIN_EMAILS: ROOT_EMAIL });
    root = await newSuperadmin(server);
    owners = [await newOwner(server), await newOwner(server)];
    ids = [];
    for (let n = 0; n < 7; n++) {
      const state = n % 2 === 0 ? 'CONNECTED' : 'DISCONNECTED';
      const id = await seedInstance(server.db, owners[n % 2]!.companyId, { state });
      const phone = `5511${String(n).repeat(9)}`;
      await server.db.query('UPDATE instances SET name = $2, phone = $3, driver = $4 WHERE id = $1', [
        id,
        n === 3 ? '100% Sales' : `Branch ${n}`,
        phone,
        n === 6 ? 'other' : 'sandbox',
      ]);
      ids.unshift(id);
    }
  });
  after(() => server.close());

  const list = (query = '', jwt = root.jwt) => server.api('GET', `/v1/admin/instances${query}`, { jwt });
  /** By their place in `ids`. */
  const found = async (query: string): Promise<number[]> => {
    const answer = await list(query);
    assert.equal(answer.status, 200, answer.text);
    return answer.body.data.map(({ id }: { id: string }) => ids.indexOf(id));
  };

  test('200: those of every company, newest first, with the name of the company', async () => {
    assert.deepEqual(await found(''), [0, 1, 2, 3, 4, 5, 6]);
    const { body } = await list('?limit=1');
    const { rows } = await server.db.query<{ name: string }>('SELECT name FROM companies WHERE id = $1', [
      owners[0]!.companyId,
    ]);
    assert.equal(body.data[0].company_name, rows[0]!.name);
    assert.equal(body.data[0].company_id, owners[0]!.companyId);
  });

  test('200: each filter, and several together', async () => {
    const table: [query: string, expected: number[]][] = [
      [`?company_id=${owners[0]!.companyId}`, [0, 2, 4, 6]],
      [`?company_id=${owners[1]!.companyId}`, [1, 3, 5]],
      ['?company_id=999999', []],
      ['?state=DISCONNECTED', [1, 3, 5]],
      ['?state=BANNED', []],
      ['?driver=other', [0]],
      ['?search=branch', [0, 1, 2, 4, 5, 6]],
      ['?search=BRANCH 5', [1]],
      ['?search=ranch', []],
      ['?search=100%25', [3]],
      ['?search=%25', []],
      ['?search=5511333', [3]],
      ['?search=%2B55 11 333', [3]],
      ['?search=', [0, 1, 2, 3, 4, 5, 6]],
      [`?company_id=${owners[0]!.companyId}&state=CONNECTED&driver=sandbox&search=branch`, [2, 4, 6]],
    ];
    for (const [query, expected] of table) assert.deepEqual(await found(query), expected, query);
  });

  test('200: pages follow each other by next_cursor, each instance once, also when others are made meanwhile', async () => {
    const seen: number[] = [];
    let cursor: string | null = null;
    let pages = 0;
    do {
      const answer = await list(`?limit=3&search=branch${cursor ? `&before=${cursor}` : ''}`);
      seen.push(...answer.body.data.map(({ id }: { id: string }) => ids.indexOf(id)));
      cursor = answer.body.next_cursor;
      pages += 1;
      await seedInstance(server.db, owners[0]!.companyId);
    } while (cursor);
    assert.deepEqual(seen, [0, 1, 2, 4, 5, 6]);
    assert.equal(pages, 2);
  });

  test('400: invalid filters; 403: a user who is no superadmin', async () => {
    for (const query of [
      '?company_id=0',
      '?company_id=x',
      '?company_id=9999999999',
      '?state=UP',
      '?before=1',
    ])
      refused(await list(query), 400, 'BAD_REQUEST');
    refused(await list('', owners[0]!.jwt), 403, 'SUPERADMIN_REQUIRED');
    refused(await server.api('GET', '/v1/admin/instances', {}), 401, 'UNAUTHORIZED');
  });
});
