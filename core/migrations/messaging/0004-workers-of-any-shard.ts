import { Migration } from '@mikro-orm/migrations';

/** Each worker takes its wake-ups from a queue of its own, however many shards there are (docs/decisions/0047). */
export class WorkersOfAnyShard extends Migration {
  override name = '0004-workers-of-any-shard';

  override up(): void {
    this.addSql(`
ALTER TABLE workers
  -- takes shards of any number; the release before knows the first 32 only
  ADD COLUMN any_shard boolean NOT NULL DEFAULT false,
  -- the broker's queue from which it takes its wake-ups; null while it has none
  ADD COLUMN queue text;
`);
  }
}
