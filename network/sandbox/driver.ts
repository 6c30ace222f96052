import { ACTIONS, abilitiesOf } from '@posthorn/core/network/abilities.ts';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import { type Clock, systemClock } from '@posthorn/core/platform/process/clock.ts';
import { FAMILIES, LACKS } from './client/envelope.ts';
import { openSession } from './client/sandbox-session.ts';
import { type SandboxLog, silentLog } from './log.ts';

export interface SandboxDriverOptions {
  /** The `url` of `createSandboxServer`, such as `ws://127.0.0.1:8090/ws`. */
  url: string;
  log?: SandboxLog;
  clock?: Clock;
  /** A send unanswered for this long fails with `SendUnavailable`. */
  sendTimeoutMs?: number;
  /** A connection counts as lost after one to two of these without data. */
  heartbeatMs?: number;
  /** Maximum unanswered sends per session; default {@link WINDOW}. */
  window?: number;
}

/** Questions are handed on as they are: the table of the simulated network has to answer each (sessions/answer-call.ts). */
const { template_list: _list, template_create: _create, template_delete: _delete, ...ANSWERS } = ACTIONS;

/** With a round trip of 50 ms, about 600 messages a second per instance. */
const WINDOW = 32;

/**
 * The driver of the sandbox network: one WebSocket per session, without reconnecting (the owner opens a new
 * session after `disconnected`). The network drops repeated network ids, so a send with an unknown outcome
 * may simply be repeated.
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
    can: abilitiesOf({ sends: FAMILIES, answers: ANSWERS, lacks: LACKS, pairsByCode: true }),
    dedupes: true,
    window: options.window ?? WINDOW,
    open: async (request, sink) => openSession(deps, request, sink),
  };
}
