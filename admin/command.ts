import type { Config } from '@posthorn/core/platform/config.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';

export interface AdminDeps {
  config: Config;
  /** False beside an `npm start` without AMQP_URL: its broker is in its process. */
  hasBroker: boolean;
  db: Db;
  log: Log;
  /** Prints one line for the operator. */
  tell(line: string): void;
}

/** The result of a check. A remark is worth a look; a fault is thrown. */
export interface Finding {
  says: string;
  isRemark?: boolean;
}

/** Resolves to whether all is well: false ends the process with 1. */
export type AdminRun = (deps: AdminDeps) => Promise<boolean>;

export interface AdminCommand {
  /** As it is typed, e.g. `export <company id> <folder>`. */
  usage: string;
  summary: string;
  /** Takes the arguments before settings and database are asked for. Throws StartError for wrong ones. */
  prepare(args: readonly string[]): AdminRun;
}
