import type { TriesScope, WorkTries } from '@posthorn/core/sending/work-tries.ts';

/** Counts the tries of work on one instance. A try that failed for a reason outside of the work is not counted in the end. */
export interface CountedTries {
  /** As {@link WorkTries.begin}. If this rejects, the database may have counted the try: it is then taken back. */
  begin(subjects: readonly string[]): Promise<Map<string, number>>;
  /** As {@link WorkTries.open}. */
  open(subjects: readonly string[]): Promise<Set<string>>;
  /** As {@link WorkTries.end}. When it rejects, that is made up for before they are counted again. */
  end(subjects: readonly string[]): Promise<void>;
  /** These were not to blame for what ended their try: their counts start again, once the database can be reached. Never rejects. */
  takeBack(subjects: readonly string[]): Promise<void>;
}

/**
 * A connection that is lost does not tell whether a try was counted, or forgotten: whatever was taken back is forgotten, for certain,
 * before it is counted again. Subtracting it from the count instead dropped messages that nobody had tried.
 */
export function createCountedTries(tries: WorkTries, scope: TriesScope): CountedTries {
  const takenBack = new Set<string>();

  async function forget(subjects: readonly string[]): Promise<void> {
    const due = subjects.filter((subject) => takenBack.has(subject));
    if (due.length === 0) return;
    await tries.end(scope, due);
    for (const subject of due) takenBack.delete(subject);
  }

  function end(subjects: readonly string[]): Promise<void> {
    for (const subject of subjects) takenBack.add(subject);
    return forget(subjects);
  }

  return {
    async begin(subjects) {
      await forget(subjects);
      try {
        return await tries.begin(scope, subjects);
      } catch (err) {
        for (const subject of subjects) takenBack.add(subject);
        throw err;
      }
    },
    async open(subjects) {
      await forget(subjects);
      return tries.open(scope, subjects);
    },
    end,
    takeBack: (subjects) => end(subjects).catch(() => undefined),
  };
}
