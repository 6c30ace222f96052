import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import type { InstanceSettings } from '@posthorn/core/instances/settings.ts';
import type { InboundMediaStore } from '@posthorn/core/media/media-port.ts';
import type { InboundRecorder } from '@posthorn/core/messages/record-inbound.ts';
import type { ProgressRecorder } from '@posthorn/core/messages/record-progress.ts';
import type { NetworkSession } from '@posthorn/core/network/driver.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import type { WorkTries } from '@posthorn/core/sending/work-tries.ts';

export interface ArrivalsDeps {
  db: Db;
  bus: Bus;
  clock: Clock;
  log: Log;
  recorder: ProgressRecorder;
  inbound: InboundRecorder;
  tries: WorkTries;
  /** Null where media is not stored at all. */
  inboundMedia: InboundMediaStore | null;
  /** Something could not be recorded, because another worker owns the shard by now: let go of it. */
  onLeaseLost(lease: Lease): void;
}

/** The instance that things arrive at; asked each time, since settings and session change. */
export interface ArrivalsScope {
  companyId: number;
  instanceId: string;
  lease: Lease;
  settings(): InstanceSettings;
  /** Reads them anew: what arrives now follows what was answered before. */
  loadSettings(): Promise<InstanceSettings>;
  session(): NetworkSession | null;
  /**
   * Does, in order among its like, what nothing else that arrives waits for. It is done before the instance is let go
   * of; its failure is told to the log.
   */
  aside(what: string, work: () => Promise<void>): void;
}
