/**
 * Everything the sandbox network knows, as plain maps. The verbs around it live one file each:
 * deliver.ts, receipts.ts, phones.ts, accounts.ts; sessions/ speaks to drivers, control/ to testers.
 */
import type { Jid } from '@posthorn/contract/jid.ts';
import type { FaultBook } from '../faults/fault-book.ts';
import type { SandboxLog } from '../log.ts';
import type { Cdn } from './cdn.ts';
import type { Journal } from './journal.ts';
import type { Ledger } from './ledger.ts';
import type { Account, Group, Kept, Phone, PhoneSettings, Session } from './model.ts';

export interface World {
  readonly phones: Map<string, Phone>;
  readonly groups: Map<Jid, Group>;
  /** The phones that have an anonymous id, by it. */
  readonly lids: Map<Jid, Phone>;
  readonly cdn: Cdn;
  readonly accountsByToken: Map<string, Account>;
  readonly ledger: Ledger;
  readonly kept: Kept;
  journal: Journal;
  readonly faults: FaultBook;
  readonly log: SandboxLog;
  /** The settings of phones that were given none. */
  defaults: PhoneSettings;
  /** Sends the frames of the session at the end of this tick, after the journal is written. */
  wake(session: Session): void;
  /** Writes the journal and sends what waits, now. */
  flush(): void;
  isClosed: boolean;
  /** Runs `task` after `ms`, unless the network is closed by then. */
  later(ms: number, task: () => void): void;
}
