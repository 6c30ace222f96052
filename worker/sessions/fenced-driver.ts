import {
  type NetworkDriver,
  type NetworkSession,
  SendUnavailable,
  type SessionSink,
} from '@posthorn/core/network/driver.ts';
import type { Pulse } from '@posthorn/core/workers/pulse.ts';
import { createSessionCalls, type SessionCalls } from './session-calls.ts';

/**
 * Wraps the driver of a worker that may have been declared dead without noticing: every call checks the pulse
 * first, so a process that was frozen sends nothing under an expired lease. A failed check throws the same
 * error as an unreachable network: nothing was sent, and the new owner sends it. Calls end with their session
 * ({@link SessionCalls}).
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
      const calls = createSessionCalls();
      const told: SessionSink = {
        ...sink,
        disconnected(reason, error) {
          calls.end();
          sink.disconnected(reason, error);
        },
      };
      return fencedSession(await driver.open(request, told), calls, checkPulse);
    },
  };
}

function fencedSession(session: NetworkSession, calls: SessionCalls, checkPulse: () => void): NetworkSession {
  /** The driver is called before this returns: sends keep the order of their calls. */
  async function ask<T>(call: () => Promise<T>): Promise<T> {
    checkPulse();
    return calls.ask(call);
  }
  /** Typed so that adding a method to the port without adding it here does not compile. */
  const fenced: { [Verb in keyof NetworkSession]: NetworkSession[Verb] } = {
    send: (message) => ask(() => session.send(message)),
    // Nothing reaches the network.
    recorded: (networkIds) => session.recorded(networkIds),
    typing: (chat) => ask(() => session.typing(chat)),
    markRead: (chat, ids) => ask(() => session.markRead(chat, ids)),
    act: (op, args) => ask(() => session.act(op, args)),
    download: (media) => ask(() => session.download(media)),
    requestPairingCode: (phone) => ask(() => session.requestPairingCode(phone)),
    logout: () => ask(() => session.logout()),
    // Always allowed: the lease is lost, so closing is right.
    close: () => session.close().finally(calls.end),
  };
  return fenced;
}
