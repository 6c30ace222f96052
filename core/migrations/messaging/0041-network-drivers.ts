import { Migration } from '@mikro-orm/migrations';

/** What each network cannot do, told by the workers that speak to it: the API answers 501 without asking them. */
export class NetworkDrivers extends Migration {
  override name = '0041-network-drivers';

  override up(): void {
    this.addSql(`
      CREATE TABLE network_drivers (
        name  text PRIMARY KEY,
        lacks text[] NOT NULL
      )
    `);
  }
}
