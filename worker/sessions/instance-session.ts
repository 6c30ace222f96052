import { loadSessionRows, type SessionRow } from '@posthorn/core/instances/load-sessions.ts';
import { type Lease, LeaseLost } from '@posthorn/core/instances/lock-leases.ts';
import { hideQr } from '@posthorn/core/instances/pairing.ts';
import { findAssignedId } from '@posthorn/core/messages/find-assigned-id.ts';
import { type NetworkSession, SendUnavailable } from '@posthorn/core/network/driver.ts';
import { type Cipher, openOrNull } from '@posthorn/core/platform/encryption.ts';
import { createLoneTimer } from '@posthorn/core/platform/process/lone-timer.ts';
import { startInstanceQueue } from '../dispatch/instance-queue.ts';
import { createArrivals } from './arrivals.ts';
import { closeAfterQueue } from './close-after-queue.ts';
import { forgetPairing, inboxOf, keysOf } from './forget-pairing.ts';
import { giveCode } from './give-code.ts';
import { createOnlineKeeper } from './keep-online.ts';
import { createPresenceWatch } from './keep-watching.ts';
import { noteAnswer } from './note-answer.ts';
import { recordTransition, showError } from './record-transition.ts';
import { retryLater, stopRetrying } from './retry-later.ts';
import { retrySteps } from './retry-steps.ts';
import type { InstanceSession, SessionContext, SessionDeps } from './session-context.ts';
import { asksForMore, GRACE_MS, planSettling } from './session-decisions.ts';
import { createSink } from './session-sink.ts';
import { createStepChain } from './step-chain.ts';

export function startInstanceSession(deps: SessionDeps, lease: Lease, first: SessionRow): InstanceSession {
  const held = createContext(deps, lease, first);
  const { queue, steps } = held;
  steps.step('open', () => settle(held));
  return {
    queue,
    network: () => held.session,
    noteAnswer: (answer) =>
      noteAnswer({ arrivals: held.arrivals, watch: held.watch, clock: deps.clock }, answer),
    lookAtInbox() {
      for (const look of held.inboxListeners) look();
    },
    lateMs: () => (held.row.state === 'CONNECTED' ? queue.lateMs() : 0),
    reconcile: () => steps.step('reconcile', () => reconcile(held)),
    differsFrom: (other) => asksForMore(held.row, other),
    async stop(how = 'released') {
      held.stopping.abort();
      stopRetrying(held);
      held.closing = takeSession(held) ?? held.closing;
      await closeAfterQueue(held.closing, queue.stop(), how).catch((err) => {
        // The shard is handed over when all of its other sessions are closed as well.
        held.log.warn({ err }, 'closing the session failed');
      });
      await Promise.all([steps.settled(), held.background.settled()]);
    },
  };
}

function createContext(deps: SessionDeps, lease: Lease, row: SessionRow): SessionContext {
  const log = deps.log.child({ instance_id: row.id, company_id: row.companyId });
  const scope = {
    companyId: row.companyId,
    instanceId: row.id,
    lease,
    settings: () => held.settings,
    async loadSettings() {
      held.settings = (await deps.settings.push(row.id)) ?? held.settings;
      return held.settings;
    },
    session: () => held.session,
    inBackground: (what: string, work: () => Promise<void>) => held.background.step(what, work),
  };
  const onFailure = (err: unknown, what: string) => {
    if (err instanceof LeaseLost) deps.onLeaseLost(lease);
    log.warn({ err, step: what }, 'session step failed');
  };
  const stopping = new AbortController();
  const steps = createStepChain(onFailure, retrySteps(deps, { log, stopping: stopping.signal }));
  const driver = deps.driverOf(row.driver);
  const held: SessionContext = {
    deps,
    driver,
    lease,
    log,
    row,
    settings: row.settings,
    session: null,
    closing: null,
    triedGeneration: 0,
    ownedSinceMs: performance.now(),
    opening: 0,
    failures: 0,
    connectedAt: null,
    loggedOut: null,
    stopping,
    steps,
    background: createStepChain(onFailure),
    turn: deps.gate.turn(() => steps.step('open in turn', () => settle(held))),
    // The row may differ from what is held: a pairing whose commit got no answer may be stored.
    retryTimer: createLoneTimer(() => steps.step('reopen', () => reconcile(held))),
    graceTimer: createLoneTimer(() =>
      steps.step('grace over', async () => {
        // It may have connected again while this step waited.
        if (held.connectedAt === null)
          await recordTransition(held, { to: 'DISCONNECTED', reason: 'connection_lost', fields: {} });
      }),
    ),
    arrivals: createArrivals(deps, scope),
    online: createOnlineKeeper(driver, log),
    watch: createPresenceWatch(log),
    inboxListeners: new Set(),
    queue: startInstanceQueue(deps, {
      ...scope,
      dedupes: driver.dedupes,
      window: driver.window,
      order: driver.order,
      outcome: driver.outcome,
      pacingMinMs: deps.pacingMinMs(row.driver),
      typingMaxMs: deps.typingMaxMs,
    }),
  };
  return held;
}

/** Run as a step: a row read outside could be older than the last step's write. */
async function reconcile(held: SessionContext): Promise<void> {
  const [current] = await loadSessionRows(held.deps.db, { instanceId: held.row.id });
  // A deleted one may have been paired after its deletion had looked, or not been logged out in time.
  held.row = current ?? { ...held.row, desired: 'logged_out' };
  await settle(held);
}

async function settle(held: SessionContext): Promise<void> {
  if (held.stopping.signal.aborted) return;
  await finishLogout(held);
  const plan = planSettling(held.row, {
    isOpen: held.session !== null,
    triedGeneration: held.triedGeneration,
    isRetrying: held.retryTimer.isSet() || held.turn.isWaiting(),
  });
  if (plan.to === 'connected') {
    if (plan.closes) await takeSession(held)?.close();
    if (plan.opens) {
      held.retryTimer.stop();
      if (held.turn.take()) await open(held);
      // `stop` came meanwhile, and found no session to close.
      if (held.stopping.signal.aborted) await takeSession(held)?.close();
    }
    if (held.session && held.row.codePhone) await giveCode(held, held.session, held.row.codePhone);
    if (held.session && held.row.state === 'CONNECTED')
      held.online.apply(held.session, held.row.settings.always_online);
    return;
  }
  stopRetrying(held);
  if (plan.to === 'logged_out') return logOut(held);
  await takeSession(held)?.close();
  if (plan.transition) await recordTransition(held, plan.transition);
}

async function open(held: SessionContext): Promise<void> {
  const { deps, row, lease } = held;
  if (row.state === 'BANNED') return held.turn.end();
  held.triedGeneration = row.generation;
  held.opening += 1;
  try {
    const credentials = row.credentials ? deps.cipher.open(row.credentials) : null;
    if (!credentials) await hideQr(deps.db, { id: row.id, lease });
    held.session = await held.driver.open(
      {
        instanceId: row.id,
        epoch: lease.epoch + row.epochOffset,
        credentials,
        keys: keysOf(held),
        proxy: row.proxy && openProxy(deps.cipher, row.proxy),
        restriction: row.restriction,
        inbox: inboxOf(held),
        assignedId: (networkId) => findAssignedId(deps.db, row.id, networkId),
      },
      createSink(held, held.opening),
    );
  } catch (err) {
    held.turn.end();
    retryLater(held);
    // As after the loss of a connection: users learn of it if no session comes soon.
    if (row.state === 'CONNECTED' && row.desired === 'connected') held.graceTimer.start(GRACE_MS);
    if (err instanceof LeaseLost) deps.onLeaseLost(lease);
    // Users see errors of the driver; other failures are ours, such as a different ENCRYPTION_KEY.
    else if (err instanceof SendUnavailable) await showError(held, err.message);
    else held.log.warn({ err }, 'opening the session failed, will be retried');
  }
}

/** An instance that is paired anew after the loss of ENCRYPTION_KEY keeps its proxy, which only its users can set again. */
function openProxy(cipher: Cipher, sealed: Buffer): string {
  const proxy = openOrNull<string>(cipher, sealed);
  if (proxy === null) throw new SendUnavailable('the proxy can no longer be read: set it again');
  return proxy;
}

/** Also ends the pairing at the network; opens a session for that if there is none. */
async function logOut(held: SessionContext): Promise<void> {
  if (!held.session && held.row.credentials && held.row.state !== 'BANNED') await open(held);
  const leaving = takeSession(held);
  await leaving?.logout().catch((err) => held.log.debug({ err }, 'logging out at the network failed'));
  await leaving?.close();
  held.loggedOut = held.row.credentials;
  await forgetPairing(held, { isAsked: true });
  held.loggedOut = null;
}

/** The database could not record the last logout, and users may have asked for something else since: it is over all the same. */
async function finishLogout(held: SessionContext): Promise<void> {
  const { loggedOut, row } = held;
  if (loggedOut && row.credentials?.equals(loggedOut)) await forgetPairing(held, { isAsked: true });
  held.loggedOut = null;
}

/** Detaches the session: its later events are ignored. */
function takeSession(held: SessionContext): NetworkSession | null {
  held.queue.detach();
  held.turn.end();
  held.opening += 1;
  held.connectedAt = null;
  const taken = held.session;
  held.session = null;
  return taken;
}
