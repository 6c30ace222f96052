import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createOrm, type Orm } from '@posthorn/core/platform/database/orm.ts';
import { messagingEntities } from '@posthorn/server/messaging/entities.ts';
import { type BreakableLink, openBreakableLink } from '../support/breakable-link.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { waitFor } from '../support/process.ts';

const POOL = 3;

type Em = Parameters<Parameters<ReturnType<Orm['fork']>['transactional']>[0]>[0];

/** The work of a transaction at the moment when its connection breaks. */
const MOMENTS: { name: string; work: (em: Em, breakSoon: () => void) => Promise<unknown>; fails: RegExp }[] =
  [
    {
      name: 'a statement',
      work(em, breakSoon) {
        breakSoon();
        return ask(em);
      },
      fails: /Connection terminated|ECONNRESET/,
    },
    {
      name: 'the commit',
      async work(em, breakSoon) {
        await ask(em);
        breakSoon();
      },
      fails: /Connection terminated|ECONNRESET/,
    },
    {
      name: 'the rollback',
      async work(em, breakSoon) {
        await ask(em);
        breakSoon();
        throw new Error('the work failed');
      },
      fails: /the work failed/,
    },
  ];

describe('the pool of the entities, with more broken connections than it has', () => {
  let database: TestDatabase;
  let link: BreakableLink;
  let orm: Orm;
  before(async () => {
    database = await createTestDatabase();
    const url = new URL(database.url);
    link = await openBreakableLink({ host: url.hostname, port: Number(url.port) });
    url.port = String(link.port);
    orm = await createOrm({ url: url.href, entities: messagingEntities, poolSize: POOL, name: 'test' });
  });
  after(async () => {
    await link.close();
    await database.drop();
  });

  /** From now on holds the sent data, and then resets the connection. */
  function breakSoon(): void {
    link.cut();
    void delay(30).then(() => link.heal('lost'));
  }

  /** Idle connections were reset together with the other one, and their next use notices it. */
  async function waitUntilServed(): Promise<void> {
    await waitFor(async () => (await orm.fork().transactional((em) => ask(em))).length === 1);
  }

  async function assertAllServe(): Promise<void> {
    await waitUntilServed();
    const together = Array.from({ length: 2 * POOL }, () => orm.fork().transactional((em) => ask(em)));
    assert.deepEqual(
      (await Promise.all(together)).map(([row]) => row),
      together.map(() => ({ one: 1 })),
    );
  }

  it('serves after each broke in its begin', async () => {
    for (let nth = 0; nth <= POOL; nth += 1) {
      await waitUntilServed();
      breakSoon();
      await assert.rejects(
        orm.fork().transactional((em) => ask(em)),
        /Connection terminated|ECONNRESET/,
      );
    }
    await assertAllServe();
  });

  for (const { name, work, fails } of MOMENTS) {
    it(`serves after each broke in ${name}`, async () => {
      for (let nth = 0; nth <= POOL; nth += 1) {
        await waitUntilServed();
        await assert.rejects(
          orm.fork().transactional((em) => work(em, breakSoon)),
          fails,
        );
      }
      await assertAllServe();
    });
  }

  it('closes', async () => {
    await orm.close();
  });
});

function ask(em: Em): Promise<{ one: number }[]> {
  return em.getConnection().execute('SELECT 1 AS one', [], 'all', em.getTransactionContext());
}
