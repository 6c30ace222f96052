import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordGroupFacts } from '@posthorn/core/groups/record-group-facts.ts';
import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import { transitionInstance } from '@posthorn/core/instances/transition-instance.ts';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import { someoneWaits } from '../support/locks.ts';
import { waitFor } from '../support/process.ts';
import { startSending } from '../support/sending.ts';

const GROUPS = ['120363000000000001@g.us', '120363000000000002@g.us', '120363000000000003@g.us'] as const;

/** The order in which the network lists them. */
let listed: readonly string[] = GROUPS;

/** The sandbox, whose account is in these groups. */
const inGroups = (driver: NetworkDriver): NetworkDriver => ({
  ...driver,
  async open(request, sink) {
    const session = await driver.open(request, sink);
    const groupOf = (jid: string) => ({
      ...{ jid, name: 'Team', description: '', owner: null, created_at: null },
      ...{ announce: false, locked: false, participants: [] },
    });
    const act = async (op: string, args: object) =>
      op === 'groups_list' ? listed.map(groupOf) : session.act(op as never, args as never);
    return { ...session, act: act as typeof session.act };
  },
});

test('groups are refreshed while facts about them are recorded in another order', async () => {
  const pipeline = await startSending({ held: { around: inGroups, releaseAll: () => undefined } });
  try {
    const instance = await pipeline.connect();
    const { parts } = pipeline.api;
    const { companyId } = pipeline.company;
    const refresh = () => pipeline.call(instance, 'GET', '/groups?refresh=true');
    assert.equal((await refresh()).status, 200);
    const { rows } = await parts.db.query<Lease>(
      'SELECT s.shard, s.epoch FROM instances i JOIN shards s ON s.shard = i.shard WHERE i.id = $1',
      [instance.id],
    );
    const scope = { companyId, instanceId: instance.id, lease: rows[0]! };
    let refreshing: ReturnType<typeof refresh> | undefined;
    let recording: Promise<unknown> | undefined;
    await parts.db.transaction(async (sql) => {
      await sql.query('SELECT 1 FROM chat_groups WHERE instance_id = $1 AND jid = $2 FOR UPDATE', [
        instance.id,
        GROUPS[1],
      ]);
      refreshing = refresh();
      await waitFor(() => someoneWaits(parts.db));
      const change = { kind: 'group_changed', by: null, name: 'Others', at: new Date() } as const;
      recording = recordGroupFacts(parts, scope, [
        { ...change, chat: GROUPS[2] },
        { ...change, chat: GROUPS[0] },
      ]);
      recording.catch(() => undefined);
      await waitFor(() => someoneWaits(parts.db, 2));
    });
    const refreshed = await refreshing!;
    assert.equal(refreshed.status, 200, refreshed.text);
    await recording;
  } finally {
    await pipeline.close();
  }
});

test('groups are refreshed while a new pairing forgets them', async () => {
  const pipeline = await startSending({ held: { around: inGroups, releaseAll: () => undefined } });
  try {
    const instance = await pipeline.connect();
    const { parts } = pipeline.api;
    const refresh = () => pipeline.call(instance, 'GET', '/groups?refresh=true');
    assert.equal((await refresh()).status, 200);
    listed = GROUPS.toReversed();
    const { rows } = await parts.db.query<Lease>(
      'SELECT s.shard, s.epoch FROM instances i JOIN shards s ON s.shard = i.shard WHERE i.id = $1',
      [instance.id],
    );
    let refreshing: ReturnType<typeof refresh> | undefined;
    let pairing: Promise<unknown> | undefined;
    await parts.db.transaction(async (sql) => {
      await sql.query('SELECT 1 FROM chat_groups WHERE instance_id = $1 AND jid = $2 FOR UPDATE', [
        instance.id,
        GROUPS[1],
      ]);
      refreshing = refresh();
      await waitFor(() => someoneWaits(parts.db));
      const { id: instanceId } = instance;
      pairing = transitionInstance(parts, {
        ...{ instanceId, lease: rows[0]! },
        ...{ to: 'CONNECTED', reason: 'paired' },
      });
      pairing.catch(() => undefined);
      await waitFor(() => someoneWaits(parts.db, 2));
    });
    const refreshed = await refreshing!;
    assert.equal(refreshed.status, 200, refreshed.text);
    assert.equal(await pairing, 'moved');
  } finally {
    listed = GROUPS;
    await pipeline.close();
  }
});
