import type { Db } from '../platform/database/db.ts';
import type { Clock } from '../platform/process/clock.ts';

export interface TriesScope {
  companyId: number;
  instanceId: string;
}

/**
 * Counts tries of work on an instance in the database, before each is made: what kills the process is
 * counted like what throws, so neither is tried forever. Subjects are UUIDs (`hashKey`, or a task's id).
 */
export interface WorkTries {
  /** Counts one more try of each. Answers how often each was begun, this time included. */
  begin(scope: TriesScope, subjects: readonly string[]): Promise<Map<string, number>>;
  /** Which of these were begun before and are still open. */
  open(scope: TriesScope, subjects: readonly string[]): Promise<Set<string>>;
  /** Forgets them: they have ended, in whatever way. */
  end(scope: TriesScope, subjects: readonly string[]): Promise<void>;
}

export function createWorkTries(deps: { db: Db; clock: Clock }): WorkTries {
  return {
    async begin({ companyId, instanceId }, subjects) {
      const begun = await deps.db.query<{ subject: string; tries: number }>({
        name: 'work-tries-begin',
        // One order for all, so that two statements never wait for each other in a ring.
        text: `INSERT INTO work_tries AS t (instance_id, company_id, subject, tries, first_at)
               SELECT $1, $2, subject, 1, $4 FROM unnest($3::uuid[]) AS subject ORDER BY subject
               ON CONFLICT (instance_id, subject) DO UPDATE SET tries = t.tries + 1
               RETURNING subject, tries`,
        values: [instanceId, companyId, [...new Set(subjects)], deps.clock.now()],
      });
      return new Map(begun.rows.map(({ subject, tries }) => [subject, tries]));
    },
    async open({ instanceId }, subjects) {
      const found = await deps.db.query<{ subject: string }>({
        name: 'work-tries-open',
        text: 'SELECT subject FROM work_tries WHERE instance_id = $1 AND subject = ANY ($2::uuid[])',
        values: [instanceId, subjects],
      });
      return new Set(found.rows.map(({ subject }) => subject));
    },
    async end({ instanceId }, subjects) {
      await deps.db.query({
        name: 'work-tries-end',
        text: 'DELETE FROM work_tries WHERE instance_id = $1 AND subject = ANY ($2::uuid[])',
        values: [instanceId, subjects],
      });
    },
  };
}
