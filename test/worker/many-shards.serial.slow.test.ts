import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { raiseShards } from '@posthorn/core/operations/raise-shards.ts';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { readShares } from '@posthorn/core/workers/own-shards.ts';
import { type Membership, newWorkerTag, startMembership } from '@posthorn/worker/ownership/membership.ts';
import { type ShardOwner, startShardOwner } from '@posthorn/worker/ownership/shard-owner.ts';
import { tellFigure } from '../support/figures.ts';
import { openLink } from '../support/link.ts';
import { cloneTemplate, type PostgresServer, startTestPostgres } from '../support/postgres.ts';
import { waitFor } from '../support/process.ts';

const SHARDS = 1_024;
const OWNERS = 200;
const range = (length: number) => Array.from({ length }, (_, i) => i);
const total = (numbers: readonly number[]) => numbers.reduce((sum, n) => sum + n, 0);

interface Owner {
  owner: ShardOwner;
  membership: Membership;
  tried: number;
  /** The number of acquisitions and releases. */
  moves: number;
}

/** A way to the database that can be cut for good, as by the end of the process. */
async function startWay(url: string): Promise<{ url: string; cut(): void }> {
  const target = new URL(url);
  const link = await openLink({ host: target.hostname, port: Number(target.port) }, (near, far) =>
    near.pipe(far).pipe(near),
  );
  const through = new URL(url);
  through.port = String(link.port);
  return { url: through.href, cut: () => void link.close() };
}

describe(`${SHARDS} shards over ${OWNERS} owners in one process, each with a connection of its own and without sessions`, () => {
  const log = createLog({ level: 'silent', role: 'test' });
  let server: PostgresServer;
  let url: string;
  let db: Db;
  let way: Awaited<ReturnType<typeof startWay>>;
  const owners: Owner[] = [];

  before(async () => {
    server = await startTestPostgres({ fsync: false });
    ({ url } = await cloneTemplate(server.url));
    db = createDb({ url, poolSize: 2, log, name: 'test' });
    await raiseShards(db, SHARDS);
    way = await startWay(url);
  });
  after(async () => {
    way.cut();
    await Promise.all(owners.map(({ owner }) => owner.stop()));
    await Promise.all(owners.map(({ membership }) => membership.stop()));
    await db.close();
    await server.stop();
  });

  function startOwner(name: string, databaseUrl: string): void {
    const membership = startMembership({ databaseUrl, log, name, tag: newWorkerTag() });
    const started: Omit<Owner, 'owner'> = { membership, tried: 0, moves: 0 };
    const owner = startShardOwner({
      membership,
      log,
      onAcquire(leases) {
        started.moves += leases.length;
      },
      async onRelease() {
        started.moves += 1;
      },
      onTried(locks) {
        started.tried += locks;
      },
    });
    owners.push(Object.assign(started, { owner }));
  }

  const sizes = () => owners.map(({ owner }) => owner.owned().length);
  const isShared = () => total(sizes()) === SHARDS && Math.max(...sizes()) - Math.min(...sizes()) <= 1;
  const ownersOfShards = async () => {
    const { rows } = await db.query<{ shard: number; owner: string }>('SELECT shard, owner FROM shards');
    return new Map(rows.map((row) => [row.shard, row.owner]));
  };

  it('a start of all owners at once shares the shards evenly, with at most two tries and two moves a shard', async () => {
    const since = performance.now();
    for (const nth of range(OWNERS)) startOwner(`owner ${nth}`, nth === 100 ? way.url : url);
    await waitFor(isShared, 90_000, { what: 'all are shared evenly', everyMs: 50 });
    tellFigure('shared evenly after', performance.now() - since, { atMost: 30_000 });
    const tried = total(owners.map((one) => one.tried));
    const moves = total(owners.map((one) => one.moves));
    console.log(`${tried} locks tried, ${moves} acquisitions and releases`);
    assert.ok(tried <= 2 * SHARDS, `${tried} locks tried`);
    assert.ok(moves <= 2 * SHARDS, `${moves} acquisitions and releases`);
  });

  it('the shards of an owner that dies go to others, and no other shard changes its owner', async () => {
    const before = await ownersOfShards();
    const [dead] = owners.splice(100, 1);
    const share = dead!.owner.owned().length;
    const tried = total(owners.map((one) => one.tried));
    const since = performance.now();
    way.cut();
    await waitFor(isShared, 60_000, { what: 'the others have its shards', everyMs: 50 });
    tellFigure('taken over after', performance.now() - since, { atMost: 10_000 });
    const now = await ownersOfShards();
    const changed = [...now].filter(([shard, owner]) => before.get(shard) !== owner);
    assert.equal(changed.length, share);
    for (const [shard] of changed) assert.equal(before.get(shard), 'owner 100');
    const more = total(owners.map((one) => one.tried)) - tried;
    console.log(`${more} locks tried for ${share} shards`);
    assert.ok(more <= 4 * share, `${more} locks tried for ${share} shards`);
    await Promise.all([dead!.owner.stop(), dead!.membership.stop()]);
  });

  it('no lock is tried and no shard is moved while nothing changes', async () => {
    const before = {
      tried: total(owners.map((one) => one.tried)),
      moves: total(owners.map((one) => one.moves)),
    };
    const since = performance.now();
    for (const _ of range(50)) await readShares(db, 0);
    console.log(`a look at all shares takes ${((performance.now() - since) / 50).toFixed(1)} ms`);
    await delay(3_000);
    assert.equal(total(owners.map((one) => one.tried)), before.tried);
    assert.equal(total(owners.map((one) => one.moves)), before.moves);
  });
});
