import { Migration } from '@mikro-orm/migrations';

/** Tickets for live connections that were used: each opens one. Rows go when the ticket would have expired. */
export class EventsTickets extends Migration {
  override name = '0036-events-tickets';

  override up(): void {
    this.addSql(`
      CREATE UNLOGGED TABLE spent_tickets (
        id         uuid PRIMARY KEY,
        expires_at timestamptz NOT NULL
      )
    `);
  }
}
