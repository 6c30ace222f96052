import type { Db } from '../../../platform/database/db.ts';
import { DAY_MS, HOUR_MS } from '../../../platform/durations.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { startOfLocalDay } from '../../dates.ts';
import { movePayment } from './simulate-action.ts';
import { customerNow, loadPayments } from './simulated-records.ts';

const NOON_MS = 12 * HOUR_MS;

/**
 * Lets days pass at the provider: cards are charged on the due date, an unpaid charge is overdue the day
 * after. Repeats until nothing is due, since each charge brings the next. Gives the number of charges moved.
 */
export async function passTime(deps: { db: Db; clock: Clock }): Promise<number> {
  let moved = 0;
  for (;;) {
    const { rows } = await deps.db.query<{ id: string }>(
      `SELECT payment.id
       FROM billing.simulated_payments payment
       JOIN billing.profiles profile ON profile.asaas_customer_id = payment.customer_id
       JOIN billing.accounts company ON company.company_id = profile.company_id,
       LATERAL (SELECT (($1::timestamptz + company.clock_offset_ms * interval '1 millisecond')
                        AT TIME ZONE 'UTC' - interval '3 hours')::date AS today) local
       WHERE payment.status = 'PENDING'
         AND payment.due_date + CASE payment.billing_type WHEN 'credit_card' THEN 0 ELSE 1 END <= local.today
       ORDER BY payment.due_date LIMIT 50`,
      [deps.clock.now()],
    );
    if (rows.length === 0) return moved;
    for (const { id } of rows) if (await passDue(deps, id)) moved += 1;
  }
}

async function passDue(deps: { db: Db; clock: Clock }, paymentId: string): Promise<boolean> {
  return deps.db.transaction(async (sql) => {
    const locked = await sql.query(
      `SELECT FROM billing.simulated_payments WHERE id = $1 AND status = 'PENDING' FOR UPDATE`,
      [paymentId],
    );
    const [payment] = await loadPayments(sql, { paymentId });
    if (locked.rowCount === 0 || !payment) return false;
    const byCard = payment.billing_type === 'credit_card';
    const due = startOfLocalDay(payment.due_date).getTime() + (byCard ? NOON_MS : DAY_MS + NOON_MS / 4);
    const now = await customerNow(sql, deps.clock, payment.customer_id);
    await movePayment(sql, {
      payment,
      to: byCard ? 'RECEIVED' : 'OVERDUE',
      events: byCard ? ['PAYMENT_CONFIRMED', 'PAYMENT_RECEIVED'] : ['PAYMENT_OVERDUE'],
      // At its hour, also when the clock has jumped far beyond it.
      at: new Date(Math.min(due, now.getTime())),
    });
    return true;
  });
}
