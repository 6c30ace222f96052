import { LeaseLost } from '@posthorn/core/instances/lock-leases.ts';
import { isUnavailable } from '@posthorn/core/platform/database/database-errors.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import type { TriesScope, WorkTries } from '@posthorn/core/sending/work-tries.ts';
import { createCountedTries } from '../count-tries.ts';

/**
 * How much of an item to record: `whole`; `bare`, without anything that must be downloaded; `envelope`, only
 * its id, chat, sender and time.
 */
export type Care = 'whole' | 'bare' | 'envelope';

/** Records one kind of item: receipts, messages, changes, facts or history. */
export interface Pipeline<T> {
  kind: string;
  /** A UUID that identifies the item, the same each time the network repeats it. */
  subjectOf(item: T): string;
  record(items: readonly T[], care: Care): Promise<void>;
}

/** The care used in each try; after the last one the item is acknowledged and dropped. */
const LADDER: readonly Care[] = ['whole', 'whole', 'whole', 'bare', 'envelope'];
/** After a crash the items before it arrive first; the network has at most this many in transit. */
const COUNTED_AFTER_CRASH = 4096;

/**
 * A failure of this process or of a service it depends on. The item itself may be fine, so the try does not
 * count.
 */
export class LocalFailure extends Error {
  override name = 'LocalFailure';
}

/**
 * Records batches so that an item that fails or crashes its worker affects only itself. Batches are recorded
 * whole and uncounted as long as nothing fails. After a failure, and for a while in a shard whose last owner
 * did not hand it over, tries are first counted in the database; an item begun before is recorded alone and
 * dropped after a few tries.
 * A database outage counts nothing. Rejects if the batch has to be handed over again; the items already
 * recorded are then skipped.
 */
export function createBoundedTries(
  deps: { tries: WorkTries; log: Log },
  scope: TriesScope & { afterCrash: boolean },
) {
  const record = createRecording(deps, scope);
  const alone = createTurns();
  return {
    /**
     * An item may come twice at once: left over by the session before, and from the network again. The second one waits, or one
     * crash would count as two tries of it.
     */
    record: <T>(pipeline: Pipeline<T>, items: readonly T[]): Promise<void> =>
      alone(items.map(pipeline.subjectOf), () => record(pipeline, items)),
  };
}

function createRecording(deps: { tries: WorkTries; log: Log }, scope: TriesScope & { afterCrash: boolean }) {
  /** Items recorded or given up, of a batch that will be handed over again. */
  const settled = new Set<string>();
  const tries = createCountedTries(deps.tries, scope);
  let toCount = scope.afterCrash ? COUNTED_AFTER_CRASH : 0;

  async function record<T>(pipeline: Pipeline<T>, items: readonly T[]): Promise<void> {
    if (items.length === 0) return;
    const fresh = items.filter((item) => !settled.has(pipeline.subjectOf(item)));
    if (
      fresh.length === items.length &&
      !(await isSuspect(pipeline, items)) &&
      (await recordBatch(pipeline, items))
    )
      return;
    for (const item of fresh) await recordAlone(pipeline, item);
    for (const item of items) settled.delete(pipeline.subjectOf(item));
  }

  /** Counts the batch if it may have crashed the last owner; true if one of its items was begun before. */
  async function isSuspect<T>(pipeline: Pipeline<T>, items: readonly T[]): Promise<boolean> {
    if (toCount <= 0) return false;
    const subjects = items.map(pipeline.subjectOf);
    if ((await tries.open(subjects)).size > 0) return true;
    await tries.begin(subjects);
    return false;
  }

  /** False if the batch failed without a hint at the faulty item. */
  async function recordBatch<T>(pipeline: Pipeline<T>, items: readonly T[]): Promise<boolean> {
    const counted = toCount > 0;
    try {
      await pipeline.record(items, 'whole');
    } catch (err) {
      if (isOutage(err)) {
        if (counted) await tries.takeBack(items.map(pipeline.subjectOf));
        throw err;
      }
      deps.log.warn(
        { err, kind: pipeline.kind, items: items.length },
        'recording a batch of inbound items failed; recording them one by one',
      );
      return false;
    }
    if (counted) {
      toCount -= items.length;
      await tries.end(items.map(pipeline.subjectOf));
    }
    return true;
  }

  async function recordAlone<T>(pipeline: Pipeline<T>, item: T): Promise<void> {
    const subject = pipeline.subjectOf(item);
    const nth = (await tries.begin([subject])).get(subject) ?? 1;
    const care = LADDER[nth - 1];
    if (care && care !== 'whole')
      deps.log.warn(
        { kind: pipeline.kind, subject, care, tries: nth },
        'recording only a part of an inbound item',
      );
    if (care) {
      try {
        await pipeline.record([item], care);
      } catch (err) {
        if (isOutage(err)) await tries.takeBack([subject]);
        else deps.log.warn({ err, kind: pipeline.kind, tries: nth }, 'recording an inbound item failed');
        throw err;
      }
    } else {
      deps.log.error({ kind: pipeline.kind, subject, tries: nth }, 'gave up recording an inbound item');
    }
    settled.add(subject);
    if (toCount > 0) toCount -= 1;
    await tries.end([subject]);
  }

  return record;
}

/** Work on items, in which no item is worked on twice at the same time. */
function createTurns() {
  const underway = new Map<string, Promise<void>>();
  return async function alone(subjects: readonly string[], work: () => Promise<void>): Promise<void> {
    for (;;) {
      const others = subjects.flatMap((subject) => underway.get(subject) ?? []);
      if (others.length === 0) break;
      await Promise.allSettled(others);
    }
    const working = work().finally(() => {
      for (const subject of subjects) underway.delete(subject);
    });
    for (const subject of subjects) underway.set(subject, working);
    return working;
  };
}

function isOutage(err: unknown): boolean {
  return isUnavailable(err) || err instanceof LocalFailure || err instanceof LeaseLost;
}
