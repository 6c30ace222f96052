import { ABILITIES, type NetworkDriver } from '@posthorn/core/network/driver.ts';
import { type Clock, systemClock } from '@posthorn/core/platform/process/clock.ts';
import { openSession } from './client/sandbox-session.ts';
import { type SandboxLog, silentLog } from './log.ts';

export interface SandboxDriverOptions {
  /** The `url` of `createSandboxServer`, such as `ws://127.0.0.1:8090/ws`. */
  url: string;
  log?: SandboxLog;
  clock?: Clock;
  /** A send without an answer for so long is `SendUnavailable`. */
  sendTimeoutMs?: number;
  /** A connection that is silent for between one and two of these is lost. */
  heartbeatMs?: number;
  /** Sends of a session without an answer at the same time; default {@link WINDOW}. */
  window?: number;
}

/** At a round trip of 50 ms, some 600 messages a second of one instance. */
const WINDOW = 32;

/**
 * The driver of the sandbox network: one WebSocket a session, no reconnecting inside (the owner opens
 * anew when it hears `disconnected`). The network drops a network id that it has, so an unknown
 * outcome may simply be repeated.
 */
export function createSandboxDriver(options: SandboxDriverOptions): NetworkDriver {
  const deps = {
    url: options.url,
    log: options.log ?? silentLog,
    clock: options.clock ?? systemClock,
    sendTimeoutMs: options.sendTimeoutMs ?? 15_000,
    heartbeatMs: options.heartbeatMs ?? 15_000,
  };
  return {
    name: 'sandbox',
    can: new Set(ABILITIES),
    dedupes: true,
    window: options.window ?? WINDOW,
    open: async (request, sink) => openSession(deps, request, sink),
  };
}
