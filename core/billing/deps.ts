import type { Db } from '../platform/database/db.ts';
import type { Orm } from '../platform/database/orm.ts';
import type { Cipher } from '../platform/encryption.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Log } from '../platform/process/log.ts';
import type { PaymentProvider } from './provider/port.ts';

/** Dependencies that the use cases of billing share. Each names the ones that it uses with `Pick`. */
export interface BillingDeps {
  db: Db;
  orm: Orm;
  clock: Clock;
  log: Log;
  /** Seals the provider's card tokens. */
  cipher: Cipher;
  provider: PaymentProvider;
}
