import type { SessionKeyWriter } from '@posthorn/core/instances/keep-session-keys.ts';
import type { SessionRow } from '@posthorn/core/instances/load-sessions.ts';
import type { SettingsLoader } from '@posthorn/core/instances/load-settings.ts';
import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import type { InstanceSettings } from '@posthorn/core/instances/settings.ts';
import type { InboundRecorder } from '@posthorn/core/messages/record-inbound.ts';
import type { ProgressRecorder } from '@posthorn/core/messages/record-progress.ts';
import type { NetworkDriver, NetworkSession } from '@posthorn/core/network/driver.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Cipher } from '@posthorn/core/platform/encryption.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import type { LoneTimer } from '@posthorn/core/platform/process/lone-timer.ts';
import type { InstanceQueue } from '../dispatch/instance-queue.ts';
import type { InstanceQueueDeps } from '../dispatch/queue-context.ts';
import type { Arrivals } from './arrivals.ts';
import type { ArrivalsDeps } from './arrivals-context.ts';
import type { OnlineKeeper } from './keep-online.ts';
import type { PresenceWatch } from './keep-watching.ts';
import type { NetworkAnswer } from './note-answer.ts';
import type { OpeningGate, OpeningTurn } from './opening-gate.ts';
import type { StepChain } from './step-chain.ts';

export interface SessionDeps extends InstanceQueueDeps, ArrivalsDeps {
  db: Db;
  bus: Bus;
  cipher: Cipher;
  keyWriter: SessionKeyWriter;
  /** The driver with this name; a driver that is not offered here cannot open sessions. */
  driverOf(name: string): NetworkDriver;
  /** Minimum time between two sends of an instance on this network. */
  pacingMinMs(driver: string): number;
  /** Maximum typing time for a text; 0: no typing. */
  typingMaxMs: number;
  inbound: InboundRecorder;
  settings: SettingsLoader;
  gate: OpeningGate;
  recorder: ProgressRecorder;
  clock: Clock;
  log: Log;
}

/** One owned instance: its queue, and its network session, which is kept in the state users asked for. */
export interface InstanceSession {
  readonly queue: InstanceQueue;
  /** The network session, or null while none is open. */
  network(): NetworkSession | null;
  /** Stores the effects of a network answer on anyone other than the caller. Rejects if that fails. */
  noteAnswer(answer: NetworkAnswer): Promise<void>;
  /** The network may have posted something for it. */
  lookAtInbox(): void;
  /** How long work has made no progress while users see the instance as connected. */
  lateMs(): number;
  /** Reads the row again and moves toward its desired state. */
  reconcile(): void;
  /** Whether the row has a request that this session has not seen. */
  differsFrom(row: SessionRow): boolean;
  /**
   * Closes the session without touching the row: the next owner finds the instance as it is. Called again if the shard is
   * lost meanwhile.
   */
  stop(how?: 'released' | 'lost'): Promise<void>;
}

/**
 * State shared by the functions of one instance session. They change it in steps, which run one at a time.
 */
export interface SessionContext {
  deps: SessionDeps;
  lease: Lease;
  log: Log;
  row: SessionRow;
  /** The settings as of the last received item. */
  settings: InstanceSettings;
  driver: NetworkDriver;
  session: NetworkSession | null;
  /** The session that is closed once its queue has ended. */
  closing: NetworkSession | null;
  /** The row's generation at the last try to open a session. */
  triedGeneration: number;
  /** When this process became the owner, monotonic. */
  ownedSinceMs: number;
  /** Counts openings: events of an earlier session do not concern the current one. */
  opening: number;
  failures: number;
  /** When the current session connected. */
  connectedAt: Date | null;
  /** The credentials that the network was asked to end, as long as the database does not know it. */
  loggedOut: Buffer | null;
  /** Aborted by `stop`: from then on nothing is opened or retried. */
  stopping: AbortController;
  steps: StepChain;
  /** Work that received items started and do not wait for. */
  background: StepChain;
  turn: OpeningTurn;
  retryTimer: LoneTimer;
  graceTimer: LoneTimer;
  arrivals: Arrivals;
  online: OnlineKeeper;
  watch: PresenceWatch;
  queue: InstanceQueue;
  /** Called when the network may have posted something. */
  inboxListeners: Set<() => void>;
}
