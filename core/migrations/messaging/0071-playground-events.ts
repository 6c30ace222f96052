import { Migration } from '@mikro-orm/migrations';

/** What was told of a message of the playground, by the message: no other event is in this index. */
export class PlaygroundEvents extends Migration {
  override name = '0071-playground-events';

  override up(): void {
    this.addSql(`
      CREATE INDEX events_playground ON events ((data -> 'message_ids' ->> 0))
      WHERE instance_id = '0198c0de-b0a7-7000-8000-706c61796772';
    `);
  }
}
