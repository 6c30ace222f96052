import type { Sql } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import type { Clock } from '../platform/process/clock.ts';

export interface CompanyTime {
  /** The present time of this company: a simulated clock may run ahead (see provider/simulated). */
  now: Date;
  offsetMs: number;
}

/**
 * Locks a company's row for a change of its billing, until the end of the transaction: requests,
 * provider events and the clock are serialized, and nobody works on a state that another is about to replace.
 */
export async function lockCompany(sql: Sql, companyId: number, clock: Clock): Promise<CompanyTime> {
  await sql.query('INSERT INTO billing.accounts (company_id) VALUES ($1) ON CONFLICT DO NOTHING', [
    companyId,
  ]);
  const { rows } = await sql.query<{ clock_offset_ms: number }>(
    'SELECT clock_offset_ms FROM billing.accounts WHERE company_id = $1 FOR UPDATE',
    [companyId],
  );
  return timeOf(clock, oneRow(rows).clock_offset_ms);
}

export function timeOf(clock: Clock, offsetMs: number): CompanyTime {
  return { now: new Date(clock.now().getTime() + offsetMs), offsetMs };
}
