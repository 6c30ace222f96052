import { type NetworkDriver, type NetworkSession, SendUnavailable } from '@posthorn/core/network/driver.ts';
import type { Pulse } from '@posthorn/core/workers/pulse.ts';

/**
 * Wraps the driver of a worker that may have been declared dead without noticing: every call checks the pulse
 * first, so a process that was frozen sends nothing under an expired lease. A failed check throws the same
 * error as an unreachable network: nothing was sent, and the new owner sends it.
 */
export function fencedDriver(driver: NetworkDriver, pulse: Pick<Pulse, 'isAlive'>): NetworkDriver {
  function checkPulse(): void {
    if (!pulse.isAlive()) throw new SendUnavailable('this worker may have lost its shards');
  }
  return {
    name: driver.name,
    dedupes: driver.dedupes,
    window: driver.window,
    ...(driver.order ? { order: driver.order } : {}),
    ...(driver.outcome ? { outcome: driver.outcome } : {}),
    can: driver.can,
    async open(request, sink) {
      checkPulse();
      return fencedSession(await driver.open(request, sink), checkPulse);
    },
  };
}

function fencedSession(session: NetworkSession, checkPulse: () => void): NetworkSession {
  /** Typed so that adding a method to the port without adding it here does not compile. */
  const fenced: { [Verb in keyof NetworkSession]: NetworkSession[Verb] } = {
    async send(message) {
      checkPulse();
      return session.send(message);
    },
    // Nothing reaches the network.
    recorded: (networkIds) => session.recorded(networkIds),
    async typing(chat) {
      checkPulse();
      return session.typing(chat);
    },
    async markRead(chat, ids) {
      checkPulse();
      return session.markRead(chat, ids);
    },
    async act(op, args) {
      checkPulse();
      return session.act(op, args);
    },
    async download(media) {
      checkPulse();
      return session.download(media);
    },
    async requestPairingCode(phone) {
      checkPulse();
      return session.requestPairingCode(phone);
    },
    async logout() {
      checkPulse();
      return session.logout();
    },
    // Always allowed: the lease is lost, so closing is right.
    close: () => session.close(),
  };
  return fenced;
}
