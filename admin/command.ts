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

export interface AdminCommand {
  /** As it is typed, e.g. `export <company id> <folder>`. */
  usage: string;
  summary: string;
  /** Resolves to whether all is well: false ends the process with 1. Throws StartError for wrong arguments. */
  run(deps: AdminDeps, args: readonly string[]): Promise<boolean>;
}
