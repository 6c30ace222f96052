import type { Edit, TestRun } from './edits.ts';

/** "Add a job" with its own example, removing feedback that is done. */
export const jobEdits: readonly Edit[] = [
  {
    file: 'core/feedback/remove-done.ts',
    create: `import type { Db } from '../platform/database/db.ts';

/** At most this many go in one statement, so that none holds its locks for long. */
const BATCH = 5_000;

/** Removes one batch of the feedback that was done before \`before\`; true: there may be more. */
export async function removeDone(deps: { db: Db }, before: Date): Promise<boolean> {
  const { rowCount } = await deps.db.query(
    \`DELETE FROM feedback WHERE id IN
       (SELECT id FROM feedback WHERE state = 'done' AND updated_at < $1 ORDER BY id LIMIT $2)\`,
    [before, BATCH],
  );
  return rowCount === BATCH;
}
`,
  },
  {
    file: 'core/platform/database/advisory-locks.ts',
    before: '  acceptOrder: 7101,\n',
    add: '  feedbackRetention: 7_071_010,\n',
  },
  {
    file: 'worker/feedback/feedback-retention-job.ts',
    create: `import { removeDone } from '@posthorn/core/feedback/remove-done.ts';
import { ADVISORY_LOCKS } from '@posthorn/core/platform/database/advisory-locks.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { DAY_MS, HOUR_MS } from '@posthorn/core/platform/durations.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { createLoneJob, type LoneJob } from '../lone-job.ts';

/** Removes feedback that was done more than \`retentionDays\` ago. */
export function createFeedbackRetentionJob(deps: {
  db: Db;
  clock: Clock;
  log: Log;
  retentionDays: number;
}): LoneJob<void> {
  return createLoneJob(deps, {
    name: 'the retention of feedback',
    lock: ADVISORY_LOCKS.feedbackRetention,
    everyMs: HOUR_MS,
    async round(signal) {
      const before = new Date(deps.clock.now().getTime() - deps.retentionDays * DAY_MS);
      while (!signal.aborted && (await removeDone(deps, before)));
    },
  });
}
`,
  },
  {
    file: 'worker/roles.ts',
    before: "import { createMailSender } from './mail/mail-sender.ts';\n",
    add: "import { createFeedbackRetentionJob } from './feedback/feedback-retention-job.ts';\n",
  },
  {
    file: 'worker/roles.ts',
    before: '    purge: createPurgeJob(parts),\n',
    add: "    'feedback retention': createFeedbackRetentionJob({ ...parts, retentionDays: 365 }),\n",
  },
  {
    file: 'test/feedback/feedback-retention.test.ts',
    create: `import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createFeedbackRetentionJob } from '@posthorn/worker/feedback/feedback-retention-job.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { seedCompany } from '../support/seed.ts';

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

test('feedback goes when it was done long enough ago, and no other', async () => {
  const { db, clock } = parts;
  const { companyId } = await seedCompany(db);
  const job = createFeedbackRetentionJob({ ...parts, retentionDays: 2 });
  for (const state of ['open', 'done'])
    await db.query(
      \`INSERT INTO feedback (company_id, kind, message, state, created_at, updated_at) VALUES ($1, 'idea', 'Hi', $2, $3, $3)\`,
      [companyId, state, clock.now()],
    );
  const left = async () => {
    await job.runOnce();
    const { rows } = await db.query('SELECT state FROM feedback WHERE company_id = $1 ORDER BY id', [companyId]);
    return rows.map(({ state }) => state);
  };
  clock.advance(86_400_000);
  assert.deepEqual(await left(), ['open', 'done']);
  clock.advance(86_400_001);
  assert.deepEqual(await left(), ['open']);
});
`,
  },
];

/** Tests that then have to pass. */
export const jobTests: readonly TestRun[] = [
  { files: ['test/feedback/feedback-retention.test.ts'], passes: 'feedback goes when it was done' },
];
