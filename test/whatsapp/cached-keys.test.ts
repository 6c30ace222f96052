import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SessionKey } from '@posthorn/core/network/driver.ts';
import { createCachedKeys } from '@posthorn/network/whatsapp/cached-keys.ts';
import { MemoryKeys } from '../support/whatsapp/driver-harness.ts';

/** A database that counts its reads, and on demand refuses writes or delays reads. */
class CountedKeys extends MemoryKeys {
  reads: string[] = [];
  isAway = false;
  gate: Promise<void> | null = null;

  override async read(kind: string, ids?: readonly string[]): Promise<Map<string, unknown>> {
    this.reads.push(...(ids ?? [kind]));
    const rows = await super.read(kind, ids);
    await this.gate;
    return rows;
  }

  override async write(changes: readonly SessionKey[]): Promise<void> {
    if (this.isAway) throw new Error('the database is away');
    await super.write(changes);
  }
}

function change(value: unknown, id = 'a', kind = 'session'): SessionKey {
  return { kind, id, value };
}

function open() {
  const db = new CountedKeys();
  return { db, keys: createCachedKeys(db) };
}

describe('keys that a session has used', () => {
  it('are read once, also when they do not exist', async () => {
    const { db, keys } = open();
    await db.write([change(1)]);
    for (let times = 0; times < 3; times += 1)
      assert.deepEqual([...(await keys.read('session', ['a', 'none']))], [['a', 1]]);
    assert.deepEqual(db.reads, ['a', 'none']);
  });

  it('are known from their write or removal', async () => {
    const { db, keys } = open();
    await keys.write([change(1)]);
    assert.equal((await keys.read('session', ['a'])).get('a'), 1);
    await keys.write([change(null)]);
    assert.equal((await keys.read('session', ['a'])).has('a'), false);
    assert.deepEqual(db.reads, []);
  });

  it('are read anew when a write of them failed', async () => {
    const { db, keys } = open();
    await keys.write([change(1)]);
    db.isAway = true;
    await assert.rejects(keys.write([change(2)]));
    assert.equal((await keys.read('session', ['a'])).get('a'), 1);
    assert.deepEqual(db.reads, ['a']);
  });

  it('are not replaced by a slow read that a write has overtaken', async () => {
    const { db, keys } = open();
    await db.write([change(1)]);
    const gate = Promise.withResolvers<void>();
    db.gate = gate.promise;
    const slow = keys.read('session', ['a']);
    await keys.write([change(2)]);
    gate.resolve();
    await slow;
    assert.equal((await keys.read('session', ['a'])).get('a'), 2);
  });

  it('are cached by the hundreds: others are read again', async () => {
    const { db, keys } = open();
    const ids = Array.from({ length: 300 }, (_, nth) => `${nth}`);
    await keys.write(ids.map((id) => change(1, id)));
    await keys.read('session', ['299']);
    assert.deepEqual(db.reads, []);
    await keys.read('session', ['0']);
    assert.deepEqual(db.reads, ['0']);
  });

  it('come from the database for other kinds, and when a whole kind is read', async () => {
    const { db, keys } = open();
    await keys.write([change(1), change(1, 'm', 'message')]);
    await keys.read('message', ['m']);
    await keys.read('session');
    assert.deepEqual(db.reads, ['m', 'session']);
  });
});
