import { Migration } from '@mikro-orm/migrations';

/** Tells the ends that a late-told payment may undo from those that it may not (docs/decisions/0058). */
export class EndsByTheClock extends Migration {
  override name = '0003-ends-by-the-clock';

  override up(): void {
    this.addSql(`
-- when time alone ended it, and so its provider's side: a trial without payment, or the period that was to be the last
ALTER TABLE billing.subscriptions ADD COLUMN ended_by_clock_at timestamptz;
-- the day on which the customer paid a boleto, by the provider, which tells of it days later
ALTER TABLE billing.charges ADD COLUMN paid_on date;
`);
  }
}
