import { Migration } from '@mikro-orm/migrations';

/** The groups that an instance is in, as the network last told of them. */
export class Groups extends Migration {
  override name = '0064-groups';

  override up(): void {
    this.addSql(`
      CREATE TABLE chat_groups (
        instance_id      uuid NOT NULL,
        jid              text NOT NULL,
        company_id       integer NOT NULL,
        name             text NOT NULL,
        description      text NOT NULL,
        owner_jid        text,
        group_created_at timestamptz,
        announce         boolean NOT NULL,
        locked           boolean NOT NULL,
        -- [{jid, role}]: always read and written as a whole, and networks bound it
        participants     jsonb NOT NULL,
        -- when a fact last changed it, by our clock: an answer that was asked for before that is older
        told_at          timestamptz NOT NULL,
        -- the network's time of that fact: one of before is a repeat
        fact_at          timestamptz NOT NULL,
        updated_at       timestamptz NOT NULL,
        PRIMARY KEY (instance_id, jid)
      );
    `);
  }
}
