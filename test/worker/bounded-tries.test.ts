import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SendUnavailable } from '@posthorn/core/network/driver.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import type { PendingTask } from '@posthorn/core/sending/load-pending.ts';
import type { WorkTries } from '@posthorn/core/sending/work-tries.ts';
import type { TaskOutcome } from '@posthorn/worker/dispatch/send-task.ts';
import { createTaskTries } from '@posthorn/worker/dispatch/task-tries.ts';
import { type Care, createBoundedTries, LocalFailure } from '@posthorn/worker/sessions/bounded-tries.ts';
import fc from 'fast-check';

const log = createLog({ level: 'silent', role: 'test' });

/** The counts in the database, which one owner leaves to the next. */
function createCounts(): WorkTries & { counts: Map<string, number> } {
  const counts = new Map<string, number>();
  return {
    counts,
    async begin(_, subjects) {
      for (const subject of subjects) counts.set(subject, (counts.get(subject) ?? 0) + 1);
      return new Map(subjects.map((subject) => [subject, counts.get(subject)!]));
    },
    open: async (_, subjects) => new Set(subjects.filter((subject) => counts.has(subject))),
    async end(_, subjects) {
      for (const subject of subjects) counts.delete(subject);
    },
  };
}

/** Passes items to `record` through the tries of one owner. */
function ownerOf(tries: WorkTries, record: (item: string, care: Care) => void) {
  const bounded = createBoundedTries({ tries, log }, { companyId: 1, instanceId: 'x', afterCrash: true });
  const pipeline = {
    kind: 'message',
    subjectOf: (item: string) => item,
    async record(items: readonly string[], care: Care) {
      for (const item of items) record(item, care);
    },
  };
  return (items: readonly string[]) => bounded.record(pipeline, items);
}

test('an item that waited for a storage under one owner is recorded whole by the next, however often it was tried', async () => {
  const tries = createCounts();
  const waiting = ownerOf(tries, () => {
    throw new LocalFailure('the storage is away');
  });
  for (let count = 0; count < 20; count += 1) await assert.rejects(waiting(['picture']), LocalFailure);
  const recorded: [string, Care][] = [];
  await ownerOf(tries, (item, care) => recorded.push([item, care]))(['picture']);
  assert.deepEqual(recorded, [['picture', 'whole']]);
  assert.equal(tries.counts.size, 0);
});

test('an item that comes twice at once is tried once: the second one waits for the first', async () => {
  const tries = createCounts();
  const downloaded = Promise.withResolvers<void>();
  const bounded = createBoundedTries({ tries, log }, { companyId: 1, instanceId: 'x', afterCrash: true });
  const counted: (number | undefined)[] = [];
  const pipeline = {
    kind: 'message',
    subjectOf: (item: string) => item,
    async record() {
      counted.push(tries.counts.get('picture'));
      await downloaded.promise;
    },
  };
  const both = [bounded.record(pipeline, ['picture']), bounded.record(pipeline, ['picture', 'text'])];
  await new Promise(setImmediate);
  assert.deepEqual(counted, [1]);
  downloaded.resolve();
  await Promise.all(both);
  assert.deepEqual(counted, [1, 1]);
  assert.equal(tries.counts.size, 0);
});

test('an item that comes twice at once is tried again when the first try failed', async () => {
  const tries = createCounts();
  let fails = true;
  const record = ownerOf(tries, () => {
    if (fails) throw new LocalFailure('the network is away');
  });
  const first = record(['picture']);
  const second = record(['picture']);
  await assert.rejects(first, LocalFailure);
  fails = false;
  await second;
  assert.equal(tries.counts.size, 0);
});

/** Counts whose statements are cut: either nothing is done, or it is done and the answer is lost. */
function cutting(tries: WorkTries, isCut: () => boolean): WorkTries {
  const cut = async <T>(statement: () => Promise<T>): Promise<T> => {
    if (isCut()) throw new Error('Connection terminated unexpectedly');
    const answer = await statement();
    if (isCut()) throw new Error('Connection terminated unexpectedly');
    return answer;
  };
  return {
    begin: (scope, subjects) => cut(() => tries.begin(scope, subjects)),
    open: (scope, subjects) => cut(() => tries.open(scope, subjects)),
    end: (scope, subjects) => cut(() => tries.end(scope, subjects)),
  };
}

test('however often the database is cut off, before or after it has done something, each item is recorded whole', async () => {
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.nat(9)), async (dice) => {
      const counts = createCounts();
      let isAway = true;
      const isCut = () => isAway && Number(dice.next().value) < 3;
      const recorded = new Map<string, Care[]>();
      const record = ownerOf(cutting(counts, isCut), (item, care) => {
        if (isCut()) throw new Error('Connection terminated unexpectedly');
        recorded.set(item, [...(recorded.get(item) ?? []), care]);
      });
      const items = ['one', 'two', 'three'];
      for (let tries = 0; ; tries += 1) {
        if (tries === 40) isAway = false;
        const isRecorded = await record(items).then(
          () => true,
          () => false,
        );
        if (isRecorded) break;
      }
      assert.deepEqual([...recorded.keys()].sort(), [...items].sort());
      assert.deepEqual([...new Set([...recorded.values()].flat())], ['whole']);
    }),
    { numRuns: 500 },
  );
});

test('however often the database is cut off, a task that the network takes has not failed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.nat(9)), async (dice) => {
      let isAway = true;
      const isCut = () => isAway && Number(dice.next().value) < 3;
      const deps = { tries: cutting(createCounts(), isCut), clock: systemClock };
      const tries = createTaskTries(deps, { companyId: 1, instanceId: 'x', afterCrash: true });
      const send = async (): Promise<TaskOutcome> => {
        if (isCut()) throw new SendUnavailable('the network is away');
        return { to: 'sent', at: new Date() };
      };
      let outcome: TaskOutcome | null = null;
      for (let count = 0; outcome === null; count += 1) {
        if (count === 40) isAway = false;
        outcome = await tries.attempt({ taskId: 'task' } as PendingTask, send).catch(() => null);
      }
      assert.equal(outcome.to, 'sent');
    }),
    { numRuns: 500 },
  );
});
