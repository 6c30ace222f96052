import { announceQr } from '@posthorn/core/instances/announce-qr.ts';
import type { DisconnectReason, SessionSink } from '@posthorn/core/network/driver.ts';
import { forgetPairing } from './forget-pairing.ts';
import { failSendsOfOthers, onPaired } from './record-pairing.ts';
import { onRestricted, recordTransition, showError } from './record-transition.ts';
import { retryLater } from './retry-later.ts';
import type { SessionContext } from './session-context.ts';
import { afterEnd, GRACE_MS, isErrorTold, mayHaveRivalOwner, startsAnew } from './session-decisions.ts';

/** Takes the reports of one session of the instance: its `opening` counts the sessions that were opened or closed before. */
export function createSink(held: SessionContext, opening: number): SessionSink {
  const { steps, queue } = held;
  let hasEnded = false;
  const isOurs = () => !held.stopping.signal.aborted && opening === held.opening;
  /** Checked again when a step begins: the session may have been closed or cut while the step waited. */
  const isCurrent = () => isOurs() && !hasEnded;
  // Any first event from the network lets the next instance open its session.
  const heard = () => {
    if (isCurrent()) held.turn.end();
  };
  return {
    qr: (qr, expiresAt) => {
      heard();
      steps.step('qr', async () => {
        if (!isCurrent()) return;
        const { row, deps, lease } = held;
        const fields = row.lastError === null ? {} : { last_error: null };
        if (row.state !== 'PAIRING' || row.lastError !== null)
          await recordTransition(held, { to: 'PAIRING', reason: null, fields });
        await announceQr(deps, { id: row.id, companyId: row.companyId, lease }, qr, expiresAt);
      });
    },
    paired: (identity) => steps.tryStep('paired', () => onPaired(held, identity, isCurrent)),
    connected: () => {
      heard();
      steps.step('connected', async () => {
        if (isCurrent()) await onConnected(held);
      });
    },
    disconnected: (reason, error) => {
      if (!isCurrent()) return;
      heard();
      hasEnded = true;
      queue.detach();
      if (reason !== 'closed') held.deps.counts?.onSessionEnd(reason);
      const hasRivalOwner = mayHaveRivalOwner({
        afterCrash: held.lease.afterCrash === true,
        openings: opening,
        ownedMs: performance.now() - held.ownedSinceMs,
      });
      steps.step('disconnected', async () => {
        if (isOurs()) await onDisconnected(held, { reason, error, hasRivalOwner });
      });
    },
    restricted: (restriction) => {
      if (isCurrent()) steps.step('restricted', () => onRestricted(held, restriction));
    },
    ...held.arrivals,
  };
}

async function onConnected(held: SessionContext): Promise<void> {
  held.connectedAt = held.deps.clock.now();
  held.graceTimer.stop();
  if (held.row.state !== 'CONNECTED')
    await recordTransition(held, { to: 'CONNECTED', reason: null, fields: {} });
  if (held.row.firstOwnSeq !== null) await failSendsOfOthers(held, { before: held.row.firstOwnSeq });
  if (!held.session) return;
  held.queue.attach(held.session, held.row.firstOwnSeq);
  held.watch.renew(held.session);
  held.online.apply(held.session, held.row.settings.always_online);
}

async function onDisconnected(
  held: SessionContext,
  { reason, error, hasRivalOwner }: { reason: DisconnectReason; error?: string; hasRivalOwner: boolean },
): Promise<void> {
  held.session = null;
  if (startsAnew(reason, held.connectedAt, held.deps.clock.now())) held.failures = 0;
  held.connectedAt = null;
  const { transition, forgetsPairing, retry, grace } = afterEnd(reason, held.row.state, hasRivalOwner);
  if (error && isErrorTold(reason, held.row.state)) await showError(held, error);
  if (grace === 'starts') held.graceTimer.start(GRACE_MS);
  if (grace === 'ends') held.graceTimer.stop();
  if (forgetsPairing) await forgetPairing(held, { isAsked: false });
  if (transition) await recordTransition(held, { ...transition, generation: held.triedGeneration });
  if (retry !== undefined) retryLater(held, retry === 'back_off' ? undefined : retry);
}
