import { Migration } from '@mikro-orm/migrations';
import { access } from './0001-baseline/access.ts';
import { chats } from './0001-baseline/chats.ts';
import { companies } from './0001-baseline/companies.ts';
import { events } from './0001-baseline/events.ts';
import { instances } from './0001-baseline/instances.ts';
import { limits } from './0001-baseline/limits.ts';
import { media } from './0001-baseline/media.ts';
import { messages } from './0001-baseline/messages.ts';
import { webhooks } from './0001-baseline/webhooks.ts';

/**
 * The schema of messaging, room by room. Hot tables carry no foreign keys: each costs a look-up a row (about 15 µs),
 * and what they would guard is guarded by the statements that write.
 */
export class Baseline extends Migration {
  override name = '0001-baseline';

  override up(): void {
    const rooms = [companies, access, limits, instances, messages, chats, events, webhooks, media];
    for (const room of rooms) this.addSql(room);
    // Last: the trigger on companies opens its media_usage, as for any other.
    this.addSql(platformCompany);
  }
}

const platformCompany = `
-- Company 1 is the platform itself (ACC-38).
INSERT INTO companies (id, name, slug) VALUES (1, 'Platform', 'platform');
SELECT setval(pg_get_serial_sequence('companies', 'id'), 1);
`;
