import { type NetworkDriver, type NetworkSession, SendUnavailable } from '@posthorn/core/network/driver.ts';
import type { Pulse } from '@posthorn/core/workers/pulse.ts';

/**
 * The driver of a worker that can be declared dead without noticing: whatever it is asked, it looks at the
 * pulse first, so that a process that was frozen says nothing to the network under a lease that has passed.
 * It throws what a network that can't be reached throws: nothing was sent, and the new owner sends it.
 */
export function fencedDriver(driver: NetworkDriver, pulse: Pick<Pulse, 'isAlive'>): NetworkDriver {
  function checkPulse(): void {
    if (!pulse.isAlive()) throw new SendUnavailable('this worker may have lost its shards');
  }
  return {
    name: driver.name,
    dedupes: driver.dedupes,
    window: driver.window,
    can: driver.can,
    async open(request, sink) {
      checkPulse();
      return fencedSession(await driver.open(request, sink), checkPulse);
    },
  };
}

function fencedSession(session: NetworkSession, checkPulse: () => void): NetworkSession {
  /** One that is added to the port without a word here does not compile. */
  const fenced: { [Verb in keyof NetworkSession]: NetworkSession[Verb] } = {
    async send(message) {
      checkPulse();
      return session.send(message);
    },
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
    // Always: to let go is what is desired then.
    close: () => session.close(),
  };
  return fenced;
}
