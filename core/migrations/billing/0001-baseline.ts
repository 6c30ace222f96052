import { Migration } from '@mikro-orm/migrations';
import { catalog } from './0001-baseline/catalog.ts';
import { payers } from './0001-baseline/payers.ts';
import { simulated } from './0001-baseline/simulated.ts';
import { subscriptions } from './0001-baseline/subscriptions.ts';
import { work } from './0001-baseline/work.ts';

/** The schema of the billing service, room by room. Nothing in it refers to messaging's tables, nor the other way round. */
export class Baseline extends Migration {
  override name = '0001-baseline';

  override up(): void {
    const rooms = [catalog, payers, subscriptions, work, simulated];
    for (const room of rooms) this.addSql(room);
  }
}
