import type { Db } from '../platform/database/db.ts';
import type { Outbound } from '../platform/http/outbound-http.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Storage } from '../platform/storage/storage.ts';
import type { SharedBudget } from './shared-budget.ts';
import type { Spool } from './spool.ts';
import type { TypeDetector } from './type-detector.ts';

/** Dependencies that the use cases of media share. */
export interface MediaDeps {
  db: Db;
  clock: Clock;
  /** Null: not configured, everything that needs it answers 503 (MED-17). */
  storage: Storage | null;
  spool: Spool;
  types: TypeDetector;
  /** Bytes of memory. */
  budget: SharedBudget;
  /** Bytes of the spool. */
  room: SharedBudget;
  outbound: Outbound;
  retentionDays: number;
  /** Time of a whole fetch by URL (HTTP_TIMEOUT, MED-2). */
  fetchTimeoutMs: number;
  /** Maximum size of a fetched file; MEDIA_MAX_BYTES by default. */
  fetchMaxBytes?: number;
}
