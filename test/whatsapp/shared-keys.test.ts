import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { SessionKey } from '@posthorn/core/network/driver.ts';
import { createSharedKeys } from '@posthorn/network/whatsapp/shared-keys.ts';
import { MemoryKeys } from '../support/whatsapp/driver-harness.ts';

/** A database that stores only when the test says so. */
class SlowKeys extends MemoryKeys {
  readonly commits: string[][] = [];
  readonly #waiting: PromiseWithResolvers<void>[] = [];
  refuses: (changes: readonly SessionKey[]) => boolean = () => false;

  override async write(changes: readonly SessionKey[]): Promise<void> {
    const turn = Promise.withResolvers<void>();
    this.#waiting.push(turn);
    await turn.promise;
    if (this.refuses(changes)) throw new Error('the database refuses this');
    this.commits.push(changes.map(({ id }) => id));
    await super.write(changes);
  }

  /** Lets the write under way continue. */
  async store(): Promise<void> {
    this.#waiting.shift()!.resolve();
    await delay(1);
  }

  get isWriting(): boolean {
    return this.#waiting.length > 0;
  }
}

function open() {
  const db = new SlowKeys();
  const broken: unknown[] = [];
  return { db, broken, keys: createSharedKeys(db, (err) => broken.push(err)) };
}

function change(id: string, value: unknown = id): SessionKey {
  return { kind: 'session', id, value };
}

describe('writes of a session', () => {
  it('that come while one is under way share the next commit', async () => {
    const { db, keys } = open();
    const first = keys.write([change('a')]);
    const others = ['b', 'c'].map((id) => keys.write([change(id)]));
    await db.store();
    await first;
    await db.store();
    await Promise.all(others);
    assert.deepEqual(db.commits, [['a'], ['b', 'c']]);
  });

  it('are read before they are stored, and their removal too', async () => {
    const { db, keys } = open();
    const stored = keys.write([change('a'), change('b')]);
    assert.deepEqual([...(await keys.read('session', ['a', 'x']))], [['a', 'a']]);
    await db.store();
    await stored;
    const removed = keys.write([change('a', null), change('c')]);
    assert.deepEqual([...(await keys.read('session'))].sort(), [
      ['b', 'b'],
      ['c', 'c'],
    ]);
    await db.store();
    await removed;
    assert.deepEqual([...(await keys.read('session'))].length, 2);
  });

  it('are confirmed in the order of the calls', async () => {
    const { db, keys } = open();
    const told: string[] = [];
    const all = ['a', 'b', 'c'].map((id) => keys.write([change(id)], () => told.push(id)));
    assert.deepEqual(told, []);
    await db.store();
    await db.store();
    await Promise.all(all);
    assert.deepEqual(told, ['a', 'b', 'c']);
  });

  it('that are collected are not waited for, and are stored with the next write', async () => {
    const { db, keys } = open();
    await keys.collect(async () => {
      await keys.write([change('ratchet 1')]);
      await keys.write([change('ratchet 2')]);
    });
    assert.equal(db.isWriting, false);
    const stored = keys.write([change('stanza')]);
    await db.store();
    await stored;
    assert.deepEqual(db.commits, [['ratchet 1', 'ratchet 2', 'stanza']]);
  });

  it('that were collected are durable when somebody waits for it, without a commit of nothing', async () => {
    const { db, keys } = open();
    await keys.collect(() => keys.write([change('ratchet 1')]));
    const first = keys.stored();
    await keys.collect(() => keys.write([change('ratchet 2')]));
    await keys.collect(() => keys.write([change('ratchet 3')]));
    const [second, third] = [keys.stored(), keys.stored()];
    await db.store();
    await first;
    await db.store();
    await Promise.all([second, third, keys.stored()]);
    assert.deepEqual(db.commits, [['ratchet 1'], ['ratchet 2', 'ratchet 3']]);
  });

  it('are on their own when the work that collected has ended', async () => {
    const { db, keys } = open();
    const later = Promise.withResolvers<void>();
    let after = Promise.resolve();
    await keys.collect(async () => {
      after = later.promise.then(() => keys.write([change('aside')]));
    });
    later.resolve();
    await delay(1);
    assert.equal(db.isWriting, true);
    await db.store();
    await after;
  });

  it('that the database refuses cost only themselves', async () => {
    const { db, keys } = open();
    db.refuses = (changes) => changes.some(({ id }) => id === 'bad');
    const first = keys.write([change('a')]);
    const bad = assert.rejects(keys.write([change('bad')]));
    const good = keys.write([change('good')]);
    await db.store();
    await first;
    await db.store();
    await db.store();
    await bad;
    await db.store();
    await good;
    assert.deepEqual(db.commits, [['a'], ['good']]);
  });

  it('that were collected and lost end the session, because later writes would depend on them', async () => {
    const { db, keys, broken } = open();
    db.refuses = () => true;
    await keys.collect(() => keys.write([change('ratchet')]));
    const lost = assert.rejects(keys.write([change('stanza')]));
    await db.store();
    await db.store();
    db.refuses = () => false;
    await lost;
    assert.equal(broken.length, 1);
    await assert.rejects(keys.write([change('more')]));
    assert.deepEqual(db.commits, []);
  });

  it('that may come later come with the next one, or by themselves', async () => {
    const { db, keys } = open();
    keys.writeLater([change('old', null)]);
    assert.equal(db.isWriting, false);
    const stored = keys.write([change('a')]);
    await db.store();
    await stored;
    assert.deepEqual(db.commits, [['old', 'a']]);
    keys.writeLater([change('older', null)]);
    await delay(1_100, undefined);
    await db.store();
    assert.deepEqual(db.commits.at(-1), ['older']);
  });

  it('that may come later have no commit of their own behind one that is under way', async () => {
    const { db, keys } = open();
    const first = keys.write([change('a')]);
    keys.writeLater([change('old', null)]);
    await db.store();
    await first;
    assert.equal(db.isWriting, false);
    const second = keys.write([change('b')]);
    await db.store();
    await second;
    assert.deepEqual(db.commits, [['a'], ['old', 'b']]);
  });

  it('that may come later are all stored in time, also more than one commit takes', async () => {
    const { db, keys } = open();
    const ids = Array.from({ length: 1_500 }, (_, nth) => `old ${nth}`);
    for (const id of ids) keys.writeLater([change(id, null)]);
    await delay(1_100);
    await db.store();
    await db.store();
    assert.deepEqual(db.commits.flat(), ids);
  });

  it('that are under way are waited for by the end, and none begins after it', async () => {
    const { db, keys } = open();
    const first = keys.write([change('a')]);
    const second = keys.write([change('b')]);
    let isClosed = false;
    const closed = keys.close().then(() => {
      isClosed = true;
    });
    await assert.rejects(keys.write([change('c')]), /has ended/);
    await db.store();
    assert.equal(isClosed, false);
    await db.store();
    await Promise.all([first, second, closed]);
    assert.deepEqual(db.commits, [['a'], ['b']]);
  });
});
