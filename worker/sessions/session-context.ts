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
  /** The network of an instance by its name; one that is not offered here cannot be opened. */
  driverOf(name: string): NetworkDriver;
  /** The least distance between two sends of an instance on this network. */
  pacingMinMs(driver: string): number;
  /** The longest time that a text is typed; 0: none is. */
  typingMaxMs: number;
  inbound: InboundRecorder;
  settings: SettingsLoader;
  gate: OpeningGate;
  recorder: ProgressRecorder;
  clock: Clock;
  log: Log;
}

/** One owned instance: its network session, kept where the users want it, and its queue. */
export interface InstanceSession {
  readonly queue: InstanceQueue;
  /** The session, while one is open. */
  network(): NetworkSession | null;
  /** Keeps what an answer of the network means for others than who asked. Rejects when it could not. */
  noteAnswer(answer: NetworkAnswer): Promise<void>;
  /** For how long there has been work that does not get on, while users are told that it is connected. */
  lateMs(): number;
  /** Reads the row again and moves toward what it asks for. */
  reconcile(): void;
  /** Whether the row asks for something that this session has not seen. */
  differsFrom(row: SessionRow): boolean;
  /** Closes the session without touching the row: the instance stays as it is for the next owner. */
  stop(): Promise<void>;
}

/** What the functions of one instance session share. They change it in steps, of which one runs at a time. */
export interface SessionContext {
  deps: SessionDeps;
  lease: Lease;
  log: Log;
  row: SessionRow;
  /** As they were when something last arrived. */
  settings: InstanceSettings;
  driver: NetworkDriver;
  session: NetworkSession | null;
  /** The generation of the row at the last try to open a session. */
  triedGeneration: number;
  /** Counts openings: what an earlier session still says is not about the one there now. */
  opening: number;
  failures: number;
  /** Since when the present session is connected. */
  connectedAt: Date | null;
  isStopped: boolean;
  steps: StepChain;
  /** What arrivals set off and do not wait for. */
  asides: StepChain;
  turn: OpeningTurn;
  retryTimer: LoneTimer;
  graceTimer: LoneTimer;
  arrivals: Arrivals;
  online: OnlineKeeper;
  watch: PresenceWatch;
  queue: InstanceQueue;
}
