import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { loadDatabaseUrl } from '@posthorn/core/platform/config.ts';
import { clusterUrl, hostsOf } from '@posthorn/core/platform/database/cluster-url.ts';
import { isUnavailable } from '@posthorn/core/platform/database/database-errors.ts';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { freePort } from '../support/process.ts';

describe('a DATABASE_URL with several servers', () => {
  test('names each with its port, 5432 where it has none, IPv6 in brackets', () => {
    const url = clusterUrl('postgres://u:p%40@a:5432,b,[::1]:5433/db?target_session_attrs=read-write');
    assert.deepEqual(hostsOf(url), [
      { host: 'a', port: 5432 },
      { host: 'b', port: 5432 },
      { host: '::1', port: 5433 },
    ]);
    const { username, password, host, pathname } = new URL(url);
    assert.deepEqual([username, password, host, pathname], ['u', 'p%40', 'a:5432', '/db']);
  });

  test('is left as it is with one server', () => {
    for (const url of ['postgres://u:p@a:5432/db?x=1', 'postgresql://a/db', 'postgres://u@a/db?host=/run/pg'])
      assert.equal(clusterUrl(url), url);
  });

  for (const [url, why] of [
    ['mysql://a,b/db', 'must be a URL with postgres://'],
    ['postgres://u:secret@a:5432,b:99999/db', 'is not a URL'],
    ['postgres://u:secret@a,,b/db', 'names an empty host'],
    ['postgres://u:secret@a,b/db?target_session_attrs=any', 'target_session_attrs must be read-write'],
    ['postgres://u:secret@a/db?target_session_attrs=standby', 'target_session_attrs must be read-write'],
  ] as const)
    test(`is refused: ${why}: ${url.replace('secret', '...')}`, () => {
      assert.throws(
        () => loadDatabaseUrl({ DATABASE_URL: url }),
        (err: Error) => err.message.startsWith(`DATABASE_URL: ${why}`) && !err.message.includes('secret'),
      );
    });
});

describe('connections to a cluster', () => {
  let primary: PostgresServer;
  let standby: PostgresServer;
  const open: Db[] = [];
  const connectTo = (...ports: string[]): Db => {
    const url = new URL(primary.url);
    const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
    const log = createLog({ level: 'silent', role: 'test' });
    const text = primary.url.replace(url.host, hosts);
    const db = createDb({ url: clusterUrl(text), poolSize: 2, log, name: 'test' });
    open.push(db);
    return db;
  };
  const portOf = (server: PostgresServer) => new URL(server.url).port;
  const portReached = async (db: Db) =>
    (await db.query<{ port: string }>("SELECT current_setting('port') AS port")).rows[0]?.port;
  before(async () => {
    primary = await startPostgres();
    await primary.kill();
    standby = await startPostgres({ standbyOf: primary });
    await primary.restart();
  });
  after(async () => {
    await Promise.all(open.map((db) => db.close()));
    await Promise.all([primary?.stop(), standby?.stop()]);
  });

  test('go to the server that takes writes, wherever it is in the list', async () => {
    assert.equal(await portReached(connectTo(portOf(primary), portOf(standby))), portOf(primary));
    assert.equal(await portReached(connectTo(portOf(standby), portOf(primary))), portOf(primary));
  });

  test('pass over a server that does not answer', async () => {
    const away = String(await freePort());
    assert.equal(await portReached(connectTo(away, portOf(standby), portOf(primary))), portOf(primary));
  });

  test('are unavailable, and no error of ours, while every server is a standby or away', async () => {
    const db = connectTo(portOf(standby), String(await freePort()));
    await assert.rejects(
      portReached(db),
      (err: Error) => isUnavailable(err) && /no server takes writes/.test(err.message),
    );
  });

  test('report a fault of all servers, such as a missing database', async () => {
    const log = createLog({ level: 'silent', role: 'test' });
    const text = primary
      .urlOf('nowhere')
      .replace(portOf(primary), `${portOf(primary)},127.0.0.1:${portOf(standby)}`);
    const db = createDb({ url: clusterUrl(text), poolSize: 1, log, name: 'test' });
    open.push(db);
    await assert.rejects(portReached(db), /database "nowhere" does not exist/);
  });

  test('find the standby by themselves once it is promoted', async () => {
    const db = connectTo(portOf(primary), portOf(standby));
    assert.equal(await portReached(db), portOf(primary));
    await primary.kill();
    const promoted = createDb({
      url: standby.url,
      poolSize: 1,
      log: createLog({ level: 'silent', role: 'test' }),
      name: 'test',
    });
    open.push(promoted);
    await promoted.query('SELECT pg_promote()');
    assert.equal(await portReached(db), portOf(standby));
  });
});
