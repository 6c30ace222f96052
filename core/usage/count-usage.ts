import { type Sql, write } from '../platform/database/db.ts';
import { statementOfRows } from '../platform/database/input-rows.ts';

export interface UsageCount {
  companyId: number;
  instanceId: string;
  what: 'sent' | 'received' | 'delivered' | 'failed';
}

/** Adds to the usage counters of the minute, in the transaction of what is counted (INS-21, SND-36). */
export async function countUsage(sql: Sql, counts: readonly UsageCount[], now: Date): Promise<void> {
  if (counts.length === 0) return;
  const rows = new Map<string, Record<string, unknown> & Record<UsageCount['what'], number>>();
  for (const { companyId, instanceId, what } of counts) {
    const row = rows.get(instanceId) ?? {
      companyId,
      instanceId,
      sent: 0,
      received: 0,
      delivered: 0,
      failed: 0,
    };
    row[what] += 1;
    rows.set(instanceId, row);
  }
  const sorted = [...rows.values()].sort((a, b) => (String(a.instanceId) < String(b.instanceId) ? -1 : 1));
  await write(sql, COUNT({ counts: sorted }, { now }));
}

const COUNT = statementOfRows({
  name: 'usage-count',
  sets: {
    counts: {
      instanceId: 'uuid',
      companyId: 'integer',
      sent: 'integer',
      received: 'integer',
      delivered: 'integer',
      failed: 'integer',
    },
  },
  values: ['now'],
  text: ({ counts, now }) => `
WITH counts AS ${counts}
INSERT INTO usage_minutes AS u (instance_id, minute, company_id, sent, received, delivered, failed)
SELECT "instanceId", date_trunc('minute', ${now}::timestamptz), "companyId", sent, received, delivered, failed
FROM counts
ON CONFLICT (instance_id, minute) DO UPDATE SET
  sent = u.sent + excluded.sent, received = u.received + excluded.received,
  delivered = u.delivered + excluded.delivered, failed = u.failed + excluded.failed`,
});
