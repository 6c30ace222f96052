import { announceQr } from '@posthorn/core/instances/announce-qr.ts';
import { type Lease, LeaseLost } from '@posthorn/core/instances/hold-leases.ts';
import { loadSessionRows, type SessionRow } from '@posthorn/core/instances/load-sessions.ts';
import { type MoveOutcome, moveInstance } from '@posthorn/core/instances/transition-instance.ts';
import { answerPairingCode, endPairing } from '@posthorn/core/instances/pairing.ts';
import type { InboundRecorder } from '@posthorn/core/messages/record-inbound.ts';
import type { ProgressRecorder } from '@posthorn/core/messages/record-progress.ts';
import type { Bus } from '@posthorn/core/platform/bus.ts';
import type { Clock } from '@posthorn/core/platform/clock.ts';
import type { Db } from '@posthorn/core/platform/db.ts';
import type { Cipher } from '@posthorn/core/platform/encryption.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import type {
  DisconnectReason,
  NetworkDriver,
  NetworkSession,
  SessionSink,
} from '@posthorn/network/driver.ts';
import { type Lane, type LaneDeps, startLane } from '../dispatch/instance-queue.ts';
import { type ArrivalsDeps, createArrivals } from './arrivals.ts';

/** A connection that comes back within this time was never away, as far as users are told. */
const GRACE_MS = 10_000;
const BACK_OFF_MS = [0, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000];
/** A throttled account is looked at this often. */
const HARD_PAUSED_RETRY_MS = 60_000;

export interface SessionDeps extends LaneDeps, ArrivalsDeps {
  db: Db;
  bus: Bus;
  cipher: Cipher;
  driver: NetworkDriver;
  inbound: InboundRecorder;
  recorder: ProgressRecorder;
  clock: Clock;
  log: Log;
}

/** One owned instance: its network session, kept where the users want it, and its lane. */
export interface InstanceSession {
  readonly lane: Lane;
  /** The session, while one is open. */
  network(): NetworkSession | null;
  /** For how long there has been work that does not get on, while users are told that it is connected. */
  lateMs(): number;
  /** Reads the row again and moves toward what it wants. */
  reconcile(): void;
  /** Whether the row asks for something that this session has not seen. */
  differsFrom(row: SessionRow): boolean;
  /** Closes the session without touching the row: the instance stays as it is for the next owner. */
  stop(): Promise<void>;
}

export function startInstanceSession(deps: SessionDeps, lease: Lease, first: SessionRow): InstanceSession {
  const log = deps.log.child({ instance_id: first.id, company_id: first.companyId });
  let row = first;
  let session: NetworkSession | null = null;
  let openedGeneration = 0;
  /** Counts openings: what an earlier session still says is not about the one there now. */
  let opening = 0;
  let failures = 0;
  let retryTimer: NodeJS.Timeout | null = null;
  let graceTimer: NodeJS.Timeout | null = null;
  let stopped = false;
  /** Steps run one at a time, in the order they were asked for. */
  let chain: Promise<void> = Promise.resolve();

  const arrivals = createArrivals(deps, {
    companyId: first.companyId,
    instanceId: first.id,
    lease,
    settings: () => row.settings,
    session: () => session,
  });

  const lane = startLane(deps, {
    instanceId: first.id,
    companyId: first.companyId,
    lease,
    dedupes: deps.driver.dedupes,
    settings: () => row.settings,
  });

  /** Rejects as `work` does, for those who must know; a failure is logged and holds up no later step. */
  function tryStep(what: string, work: () => Promise<void>): Promise<void> {
    const done = chain.then(work);
    chain = done.catch((err) => {
      if (err instanceof LeaseLost) deps.onLeaseLost(lease);
      log.warn({ err, step: what }, 'session step failed');
    });
    return done;
  }

  /** For steps that nobody waits for: the next look at the row tries again. */
  function step(what: string, work: () => Promise<void>): Promise<void> {
    return tryStep(what, work).catch(() => undefined);
  }

  async function settle(): Promise<void> {
    if (stopped) return;
    if (row.wanted === 'connected') {
      if (session && openedGeneration !== row.generation) await closeSession();
      if (!session && !retryTimer) await open();
      if (session && row.codePhone) await giveCode(session, row.codePhone);
      return;
    }
    stopRetrying();
    if (row.wanted === 'logged_out') return logOut();
    await closeSession();
    if (row.state === 'PAIRING' || row.state === 'CONNECTED')
      await move('DISCONNECTED', row.hold ?? 'requested');
  }

  async function open(): Promise<void> {
    if (row.state === 'BANNED') return;
    openedGeneration = row.generation;
    opening += 1;
    try {
      const credentials = row.credentials ? deps.cipher.open(row.credentials) : null;
      session = await deps.driver.open(
        { instanceId: row.id, epoch: lease.epoch, credentials },
        createSink(opening),
      );
    } catch (err) {
      log.debug({ err }, 'opening the session failed');
      retryLater();
    }
  }

  function createSink(mine: number): SessionSink {
    const isCurrent = () => !stopped && mine === opening;
    return {
      qr: (qr, expiresAt) =>
        void step('qr', async () => {
          if (row.state !== 'PAIRING') await move('PAIRING', null);
          await announceQr(deps, { id: row.id, companyId: row.companyId, lease }, qr, expiresAt);
        }),
      paired: (identity) =>
        tryStep('paired', async () => {
          const credentials = deps.cipher.seal(identity.credentials);
          await endPairing(deps.db, { id: row.id, lease });
          const outcome = await move('CONNECTED', 'paired', {
            credentials,
            phone: identity.phone,
            jid: identity.jid,
            push_name: identity.pushName,
          });
          // The network must not take the pairing for done: the credentials are kept nowhere.
          if (outcome === 'refused') throw new Error(`a ${row.state} instance was paired`);
          row = { ...row, credentials };
        }),
      connected: () => {
        if (!isCurrent()) return;
        void step('connected', async () => {
          failures = 0;
          stopGrace();
          if (row.state !== 'CONNECTED') await move('CONNECTED', null);
          if (session) lane.attach(session);
        });
      },
      disconnected: (reason) => {
        if (!isCurrent()) return;
        lane.detach();
        void step('disconnected', async () => {
          if (isCurrent()) await onDisconnected(reason);
        });
      },
      ...arrivals,
    };
  }

  async function onDisconnected(reason: DisconnectReason): Promise<void> {
    session = null;
    if (stopped || reason === 'closed') return;
    if (reason === 'connection_lost') {
      if (row.state === 'CONNECTED') startGrace();
      return retryLater();
    }
    stopGrace();
    if (reason === 'logged_out') return forget('logged_out');
    if (reason === 'banned') return void (await move('BANNED', reason, { restriction: 'banned' }));
    if (reason === 'hard_paused') {
      await move('HARD_PAUSED', reason, { restriction: 'hard_paused' });
      return retryLater(HARD_PAUSED_RETRY_MS);
    }
    // Replaced: another login has the account. Opening again would kick it in turn, for ever.
    await move('DISCONNECTED', reason, { last_error: 'another session of this account was opened' });
  }

  function retryLater(ms = BACK_OFF_MS[Math.min(failures, BACK_OFF_MS.length - 1)]!): void {
    if (stopped || retryTimer || row.wanted !== 'connected') return;
    failures += 1;
    retryTimer = setTimeout(() => {
      retryTimer = null;
      void step('reopen', settle);
    }, ms);
  }

  function stopRetrying(): void {
    if (retryTimer) clearTimeout(retryTimer);
    retryTimer = null;
    failures = 0;
    stopGrace();
  }

  function startGrace(): void {
    graceTimer ??= setTimeout(() => {
      graceTimer = null;
      void step('grace over', async () => void (await move('DISCONNECTED', 'connection_lost')));
    }, GRACE_MS);
  }

  function stopGrace(): void {
    if (graceTimer) clearTimeout(graceTimer);
    graceTimer = null;
  }

  async function giveCode(current: NetworkSession, phone: string): Promise<void> {
    row = { ...row, codePhone: null };
    const answer = await current.requestPairingCode(phone).then(
      (code) => ({ code }),
      (err: Error) => ({ error: err.message }),
    );
    await answerPairingCode(deps.db, { id: row.id, lease }, phone, answer);
    deps.bus.notify('instance', row.id);
  }

  /** Ends the pairing at the network too; a session is opened for that when there is none. */
  async function logOut(): Promise<void> {
    if (!session && row.credentials && row.state !== 'BANNED') await open();
    const leaving = takeSession();
    await leaving?.logout().catch((err) => log.debug({ err }, 'the network did not take the logout'));
    await leaving?.close();
    await forget('requested');
  }

  async function forget(reason: string): Promise<void> {
    await endPairing(deps.db, { id: row.id, lease });
    if (row.credentials === null && row.state === 'DISCONNECTED') return;
    row = { ...row, credentials: null };
    await move('DISCONNECTED', reason === 'requested' ? 'logged_out' : reason, {
      credentials: null,
      phone: null,
      jid: null,
      push_name: null,
      wanted: 'logged_out',
    });
  }

  async function closeSession(): Promise<void> {
    await takeSession()?.close();
  }

  /** The session, no longer ours: what it says from now on is not heard. */
  function takeSession(): NetworkSession | null {
    lane.detach();
    opening += 1;
    const taken = session;
    session = null;
    return taken;
  }

  async function move(
    to: SessionRow['state'],
    reason: string | null,
    fields: Parameters<typeof moveInstance>[1]['fields'] = {},
  ): Promise<MoveOutcome> {
    const outcome = await moveInstance(deps, { instanceId: row.id, lease, to, reason, fields });
    if (outcome === 'moved') row = { ...row, state: to };
    return outcome;
  }

  void step('open', settle);
  return {
    lane,
    network: () => session,
    lateMs: () => (row.state === 'CONNECTED' ? lane.lateMs() : 0),
    reconcile: () =>
      void step('reconcile', async () => {
        // Read among the steps: a row read outside could be older than what a step just wrote.
        const [current] = await loadSessionRows(deps.db, { instanceId: row.id });
        row = current ?? { ...row, wanted: 'disconnected', state: 'DISCONNECTED' };
        await settle();
      }),
    differsFrom: (other) =>
      other.wanted !== row.wanted ||
      other.generation !== row.generation ||
      other.codePhone !== row.codePhone ||
      JSON.stringify(other.settings) !== JSON.stringify(row.settings),
    async stop() {
      stopped = true;
      stopRetrying();
      const closing = takeSession();
      // The lane's last outcome arrives over the session: the lane ends first.
      await lane.stop();
      await closing?.close();
      await chain;
    },
  };
}
