import type { Db } from '../platform/database/db.ts';
import type { Outbound } from '../platform/http/outbound-http.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Storage } from '../platform/storage/storage.ts';
import type { SharedBudget } from './shared-budget.ts';
import type { Spool } from './spool.ts';
import type { TypeDetector } from './type-detector.ts';

/** What the use cases of media share. */
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
  /** Of a fetch by URL, all in all (HTTP_TIMEOUT, MED-2). */
  fetchTimeoutMs: number;
  /** Of what a fetch gives; MEDIA_MAX_BYTES without it. */
  fetchMaxBytes?: number;
}
