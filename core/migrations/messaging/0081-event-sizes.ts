import { Migration } from '@mikro-orm/migrations';

/**
 * Bytes of the data of an event as text: what a page may hold is known without decompressing what does not fit on it.
 * Null for events from before, which are measured when they are read.
 */
export class EventSizes extends Migration {
  override name = '0081-event-sizes';

  override up(): void {
    this.addSql('ALTER TABLE events ADD COLUMN size_bytes integer');
  }
}
