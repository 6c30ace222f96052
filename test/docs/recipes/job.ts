import type { Edit, TestRun } from './edits.ts';

/** "Add a job" with its own example, removing old entries of the audit log. */
export const jobEdits: readonly Edit[] = [
  {
    file: 'core/audit/remove-old-entries.ts',
    create: `import type { Db } from '../platform/database/db.ts';

/** At most this many go in one statement, so that none holds its locks for long. */
const BATCH = 5_000;

/** Removes one batch of the entries from before \`before\`; true: there may be more. */
export async function removeOldEntries(deps: { db: Db }, before: Date): Promise<boolean> {
  const { rowCount } = await deps.db.query(
    \`DELETE FROM audit_log WHERE id IN
       (SELECT id FROM audit_log WHERE created_at < $1 ORDER BY id LIMIT $2)\`,
    [before, BATCH],
  );
  return rowCount === BATCH;
}
`,
  },
  {
    file: 'core/platform/database/advisory-locks.ts',
    before: '  acceptOrder: 7101,\n',
    add: '  auditRetention: 7_071_008,\n',
  },
  {
    file: 'worker/audit/audit-retention-job.ts',
    create: `import { removeOldEntries } from '@posthorn/core/audit/remove-old-entries.ts';
import { ADVISORY_LOCKS } from '@posthorn/core/platform/database/advisory-locks.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { DAY_MS, HOUR_MS } from '@posthorn/core/platform/durations.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { createLoneJob, type LoneJob } from '../lone-job.ts';

/** Removes entries of the audit log that are older than \`retentionDays\`. */
export function createAuditRetentionJob(deps: {
  db: Db;
  clock: Clock;
  log: Log;
  retentionDays: number;
}): LoneJob<void> {
  return createLoneJob(deps, {
    name: 'the retention of the audit log',
    lock: ADVISORY_LOCKS.auditRetention,
    everyMs: HOUR_MS,
    async round(signal) {
      const before = new Date(deps.clock.now().getTime() - deps.retentionDays * DAY_MS);
      while (!signal.aborted && (await removeOldEntries(deps, before)));
    },
  });
}
`,
  },
  {
    file: 'worker/roles.ts',
    before: "import { startBillingRoles } from './billing/start.ts';\n",
    add: "import { createAuditRetentionJob } from './audit/audit-retention-job.ts';\n",
  },
  {
    file: 'worker/roles.ts',
    before: '    purge: createPurgeJob(parts),\n',
    add: "    'audit retention': createAuditRetentionJob({ ...parts, retentionDays: 365 }),\n",
  },
  {
    file: 'test/audit/audit-retention.test.ts',
    create: `import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { recordAudit } from '@posthorn/core/audit/record-audit.ts';
import { createAuditRetentionJob } from '@posthorn/worker/audit/audit-retention-job.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { seedCompany } from '../support/seed.ts';

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

test('entries of the audit log go when their time is over, and no other', async () => {
  const { db, clock } = parts;
  const { companyId } = await seedCompany(db);
  const job = createAuditRetentionJob({ ...parts, retentionDays: 2 });
  const entry = { companyId, userId: null, traceId: null };
  await recordAudit(db, { ...entry, action: 'session.login', at: clock.now() });
  clock.advance(86_400_000);
  await recordAudit(db, { ...entry, action: 'session.logout', at: clock.now() });
  const left = async () => {
    await job.runOnce();
    const { rows } = await db.query('SELECT action FROM audit_log WHERE company_id = $1 ORDER BY id', [companyId]);
    return rows.map(({ action }) => action);
  };
  assert.deepEqual(await left(), ['session.login', 'session.logout']);
  clock.advance(86_400_001);
  assert.deepEqual(await left(), ['session.logout']);
});
`,
  },
];

/** Tests that then have to pass. */
export const jobTests: readonly TestRun[] = [
  { files: ['test/audit/audit-retention.test.ts'], passes: 'entries of the audit log go' },
];
