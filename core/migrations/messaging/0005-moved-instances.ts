import { Migration } from '@mikro-orm/migrations';

/** Instances move between shards (docs/decisions/0047). */
export class MovedInstances extends Migration {
  override name = '0005-moved-instances';

  override up(): void {
    this.addSql(`
ALTER TABLE instances
  -- the shard that an operator chose; null: the one of the hash of its id
  ADD COLUMN placed smallint,
  -- added to the epoch of the shard, so that the network sees it grow although the instance came from another shard
  ADD COLUMN epoch_offset bigint NOT NULL DEFAULT 0;
`);
  }
}
