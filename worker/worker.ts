import type { DirectDelivery } from '@posthorn/core/events/direct-delivery.ts';
import { tellAbilities } from '@posthorn/core/instances/driver-abilities.ts';
import { createSessionKeyWriter } from '@posthorn/core/instances/keep-session-keys.ts';
import { createSettingsLoader } from '@posthorn/core/instances/load-settings.ts';
import { readKnownJid } from '@posthorn/core/lids/read-phones.ts';
import { isGone } from '@posthorn/core/messages/is-gone.ts';
import { type EndedChange, recordChangeTask } from '@posthorn/core/messages/record-change-task.ts';
import { createInboundRecorder } from '@posthorn/core/messages/record-inbound.ts';
import { createProgressRecorder } from '@posthorn/core/messages/record-progress.ts';
import { lacksOf } from '@posthorn/core/network/abilities.ts';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import type { Broker } from '@posthorn/core/platform/broker/broker.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Cipher } from '@posthorn/core/platform/encryption.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import type { Trace } from '@posthorn/core/platform/tracing/trace.ts';
import { createAcceptor } from '@posthorn/core/sending/accept-send.ts';
import { createAttempts } from '@posthorn/core/sending/begin-attempt.ts';
import { createPendingLoader } from '@posthorn/core/sending/load-pending.ts';
import type { LocalQueues } from '@posthorn/core/sending/local-queues.ts';
import { noteTyping } from '@posthorn/core/sending/note-typing.ts';
import { createWorkTries } from '@posthorn/core/sending/work-tries.ts';
import { LOOK_AGAIN } from '@posthorn/core/workers/members.ts';
import { startRpcServer } from './actions/rpc-server.ts';
import type { WorkCounts } from './count-work.ts';
import type { InstanceQueueDeps } from './dispatch/queue-context.ts';
import { noWorkerMedia, type WorkerMedia } from './media/worker-media.ts';
import { type DrainRequest, hearDrain } from './ownership/hear-drain.ts';
import { type Membership, newWorkerTag, startMembership } from './ownership/membership.ts';
import { startShardOwner } from './ownership/shard-owner.ts';
import { startRelay } from './relay/relay.ts';
import { startTakingWakeUps } from './relay/take-wake-ups.ts';
import { startScheduleRunner } from './schedule/schedule-runner.ts';
import { fencedDriver } from './sessions/fenced-driver.ts';
import { offeredDrivers } from './sessions/offered-drivers.ts';
import { createOpeningGate, OPENING_LIMITS, type OpeningLimits } from './sessions/opening-gate.ts';
import { startSessionManager } from './sessions/session-manager.ts';

export interface WorkerDeps {
  databaseUrl: string;
  db: Db;
  bus: Bus;
  broker: Broker;
  cipher: Cipher;
  clock: Clock;
  log: Log;
  driver: NetworkDriver;
  /** Makes deliveries in this process. */
  deliveries?: DirectDelivery;
  /** The other networks of this installation; each instance's row says which one it is on. */
  otherDrivers?: readonly NetworkDriver[];
  /** Without it, this installation stores no media. */
  media?: WorkerMedia;
  /** How long and how often a task the network cannot take now is retried. */
  deferral?: InstanceQueueDeps['deferral'];
  /** Minimum time between two sends of an instance; default: none. */
  pacingMinMs?: (driver: string) => number;
  /** Maximum typing time for a text; 0: no typing; default: no limit. */
  typingMaxMs?: number;
  /** Replaces {@link OPENING_LIMITS}. */
  openings?: OpeningLimits;
  /** Names this worker to operators, e.g. host and process id. */
  name: string;
  /** Its registration as a live worker, if the caller keeps one; otherwise the worker keeps its own. */
  membership?: Membership;
  /** Absent: heard from now on. */
  drainRequest?: DrainRequest;
  /** Absent: nobody listens. */
  trace?: Trace | undefined;
  /** Default: nobody counts. */
  counts?: WorkCounts;
}

export interface RunningWorker {
  /**
   * For the acceptor in this process: wakes the queues of instances this worker owns, otherwise the relay.
   */
  queues: LocalQueues;
  /** `ofShards`: how many there are, of all workers. */
  counts(): { shards: number; ofShards: number; sessions: number };
  /** The longest time that a connected instance here has had a pending send without progress. */
  lateMs(): number;
  /** Hands over its shards, records the work in progress, and ends. */
  stop(): Promise<void>;
}

/** The owner of this shard relays the outbox: one worker at a time, without a separate election. */
const RELAY_SHARD = 0;

/**
 * Starts the pipeline's consumers: the relay, and the sessions and instance queues of the shards this worker
 * owns.
 */
// long: puts the parts together that need each other
export async function startWorker(deps: WorkerDeps): Promise<RunningWorker> {
  const drivers = [deps.driver, ...(deps.otherDrivers ?? [])];
  for (const driver of drivers) await tellAbilities(deps.db, { name: driver.name, lacks: lacksOf(driver) });
  const recorder = createProgressRecorder(deps);
  const inbound = createInboundRecorder(deps);
  const keyWriter = createSessionKeyWriter(deps);
  const media = deps.media ?? noWorkerMedia;
  const recordChange = (ended: EndedChange) => recordChangeTask(deps, ended);
  const membership = deps.membership ?? startMembership({ ...deps, tag: newWorkerTag() });
  const attempts = createAttempts(deps.db);
  const sessions = startSessionManager({
    ...deps,
    driverOf: offeredDrivers(drivers.map((driver) => fencedDriver(driver, membership))),
    pacingMinMs: deps.pacingMinMs ?? (() => 0),
    typingMaxMs: deps.typingMaxMs ?? Number.POSITIVE_INFINITY,
    recorder,
    recordChange,
    inbound,
    keyWriter,
    settings: createSettingsLoader(deps),
    gate: createOpeningGate(deps.openings ?? OPENING_LIMITS),
    tries: createWorkTries(deps),
    media: media.preparer,
    inboundMedia: media.inbound,
    loader: createPendingLoader(deps),
    attempts,
    noteTyping: (typing) => noteTyping(deps.db, typing),
    isGone: (change) => isGone(deps.db, change),
    addressOf: (instanceId, jid) => readKnownJid(deps.db, instanceId, jid),
    onLeaseLost(lease) {
      // An instance that moved away took nothing else of its shard with it.
      if (lease.hold?.isOver() !== true) owner.giveUp(lease);
    },
    random: Math.random,
  });
  const owner = startShardOwner({
    membership,
    log: deps.log,
    onAcquire: (leases) => sessions.acquire(leases),
    onRelease: (shard, how) => sessions.release(shard, how),
  });
  const drainRequest = deps.drainRequest ?? hearDrain(deps.bus, membership);
  drainRequest.onCome(owner.drain);
  deps.bus.on('workers', (payload) => payload === LOOK_AGAIN && owner.look());
  const rpc = startRpcServer({
    ...deps,
    recorder,
    recordChange,
    attempts,
    leases: () => owner.owned(),
    leaseFor: (instanceId, shard) => sessions.leaseFor(instanceId, shard),
    instance(instanceId) {
      const held = sessions.find(instanceId);
      return held && { queue: held.queue, session: held.network(), noteAnswer: held.noteAnswer };
    },
  });
  const wakeUps = startTakingWakeUps({ ...deps, membership, sessions });
  const relay = startRelay({
    ...deps,
    isLeader: () => owner.owns(RELAY_SHARD),
  });
  const queues: LocalQueues = {
    idleAt: (instanceId) => sessions.find(instanceId)?.queue.idleAt() ?? null,
    onAccepted(accepted) {
      if (sessions.wakeQueues(accepted)) return true;
      relay.wake();
      return false;
    },
  };
  const acceptor = createAcceptor({ ...deps, queues });
  const schedule = startScheduleRunner({ ...deps, acceptor, media: media.sources, pulse: membership });
  return {
    queues,
    counts: () => ({ ...sessions.counts(), ofShards: owner.ofShards() }),
    lateMs: () => sessions.lateMs(),
    async stop() {
      await Promise.all([schedule.stop(), relay.stop(), rpc.stop()]);
      await owner.stop();
      await wakeUps.stop();
      await sessions.stop();
      await Promise.all([recorder.idle(), inbound.idle(), rpc.idle()]);
      if (!deps.membership) await membership.stop();
    },
  };
}
