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
  /** Null if media is not stored at all. */
  inboundMedia: InboundMediaStore | null;
  /** A record failed because another worker now owns the shard: release it. */
  onLeaseLost(lease: Lease): void;
}

/** The instance that receives the items; settings and session are read each time because they change. */
export interface ArrivalsScope {
  companyId: number;
  instanceId: string;
  lease: Lease;
  settings(): InstanceSettings;
  /** Reads the settings again: items received after a settings change was answered must follow it. */
  loadSettings(): Promise<InstanceSettings>;
  session(): NetworkSession | null;
  /**
   * Runs work, in order, that no other received item waits for. It finishes before the instance is released;
   * a failure is logged.
   */
  inBackground(what: string, work: () => Promise<void>): void;
}
