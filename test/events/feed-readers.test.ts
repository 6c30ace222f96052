import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Cursor } from '@posthorn/core/events/cursor.ts';
import type { EventSink } from '@posthorn/core/events/event-sink.ts';
import {
  batchFor,
  createReaderGroups,
  type FeedReader,
  FIRST_PACE,
  meetsHead,
  needsHeartbeat,
  newReader,
  paceAfter,
  shareBatch,
  standsAtHead,
} from '@posthorn/core/events/feed-readers.ts';
import type { LoggedEvent } from '@posthorn/core/events/read-events.ts';

const at = (tx: number): Cursor => ({ tx, id: 0, atMs: 0 });

function event(tx: number, type = 'message.sent'): LoggedEvent {
  return { cursor: at(tx), eventId: `e${tx}`, type, instanceId: null, body: '{}' };
}

function reader(tx: number, types?: string[]): FeedReader {
  return newReader(types ? { types } : {}, at(tx), {} as EventSink);
}

const seen = (events: readonly LoggedEvent[]) => events.map(({ cursor }) => cursor.tx);

test('a reader that is behind joins the others when it has reached their place', () => {
  assert.deepEqual(
    [standsAtHead(at(5), at(5)), standsAtHead(at(5), null), standsAtHead(at(5), at(6))],
    [true, false, false],
  );
  const table: [name: string, page: { more: boolean; next: Cursor }, head: Cursor | null, meets: boolean][] =
    [
      ['there is more to read', { more: true, next: at(9) }, at(5), false],
      ['short of the others', { more: false, next: at(4) }, at(5), false],
      ['where the others are', { more: false, next: at(5) }, at(5), true],
      ['past the others', { more: false, next: at(6) }, at(5), true],
      ['nobody is live', { more: false, next: at(1) }, null, true],
    ];
  for (const [name, page, head, meets] of table) assert.equal(meetsHead(page, head), meets, name);
});

test('a reader gets heartbeats while it is up to date, or behind without anything that it wants', () => {
  const states = (['live', 'behind', 'gone'] as const).flatMap((state) =>
    [false, true].map((wasFed) => ({ state, wasFed })),
  );
  assert.deepEqual(states.map(needsHeartbeat), [true, true, true, false, false, false]);
});

test('a reader gets the events that match its filter and that it has not seen', () => {
  const events = [event(1), event(2, 'instance.paired'), event(3)];
  assert.deepEqual(seen(batchFor(reader(1), events).events), [2, 3]);
  assert.deepEqual(seen(batchFor(reader(0, ['message.*']), events).events), [1, 3]);
});

test('readers of one group share a batch; one that was ahead gets its own, and nobody moves back', () => {
  const head = at(2);
  const [first, ahead, second] = [reader(2), reader(4), reader(2)] as const;
  const page = { events: [event(3), event(4), event(5)], next: at(5) };
  const shared = shareBatch([first, ahead, second], head, page);
  assert.deepEqual(
    shared.map(({ batch }) => seen(batch.events)),
    [[3, 4, 5], [5], [3, 4, 5]],
  );
  assert.equal(shared[0]!.batch, shared[2]!.batch, 'one rendering for both');
  assert.notEqual(shared[0]!.batch, shared[1]!.batch);
  const far = shareBatch([reader(9)], head, page);
  assert.deepEqual([far[0]!.position, seen(far[0]!.batch.events)], [at(9), []]);
});

test('rows that wait for an older transaction are looked for less and less often, until something comes', () => {
  const waits = { pending: true, events: [] };
  let pace = FIRST_PACE;
  const pauses = [1, 2, 3, 4, 5].map(() => {
    pace = paceAfter(pace, waits);
    return pace.pauseMs;
  });
  assert.deepEqual([pauses, pace.isPending], [[10, 20, 40, 50, 50], true]);
  assert.deepEqual(paceAfter(pace, { pending: true, events: [event(1)] }), { isPending: true, pauseMs: 5 });
  assert.deepEqual(paceAfter(pace, { pending: false, events: [] }), { isPending: false, pauseMs: 5 });
});

test('readers with equal filters are one group, which goes with its last reader', () => {
  const groups = createReaderGroups();
  const all = [reader(1), reader(2), reader(1, ['message.*'])];
  for (const each of all) groups.add(each);
  assert.deepEqual(
    [...groups.all()].map((group) => group.size),
    [2, 1],
  );
  for (const each of all) {
    assert.equal(groups.isEmpty(), false);
    groups.remove(each);
  }
  assert.equal(groups.isEmpty(), true);
});
