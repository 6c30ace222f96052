import { Migration } from '@mikro-orm/migrations';

/** Whose labels, chats and contacts an instance has, and how far the history is that came with its pairing. */
export class DeviceSyncs extends Migration {
  override name = '0063-device-syncs';

  override up(): void {
    this.addSql(`
      CREATE TABLE device_syncs (
        instance_id uuid PRIMARY KEY,
        company_id  integer NOT NULL,
        -- the account that the stored state is of
        account_jid text NOT NULL,
        -- taken of its history so far
        chats       integer NOT NULL DEFAULT 0,
        contacts    integer NOT NULL DEFAULT 0,
        messages    integer NOT NULL DEFAULT 0,
        -- history.synced was told
        finished_at timestamptz,
        updated_at  timestamptz NOT NULL
      );
    `);
  }
}
