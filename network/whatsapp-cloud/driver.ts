import { abilitiesOf } from '@posthorn/core/network/abilities.ts';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import type { GraphAddress } from '@posthorn/core/network/graph-api.ts';
import { type Clock, systemClock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { ACTIONS } from './actions.ts';
import { COMPOSERS } from './compose.ts';
import { LACKS } from './lacks.ts';
import { openSession } from './session.ts';

export interface CloudDriverOptions {
  graph: GraphAddress;
  /** Where the network posts what is for an instance. */
  callbackUrl(instanceId: string): string;
  log: Pick<Log, 'debug' | 'warn'>;
  clock?: Clock;
  /** A request without an answer for this long has none. */
  sendTimeoutMs?: number;
  /** In how many chats a send may be under way at the same time. */
  window?: number;
}

/** At 200 to 300 ms an answer, enough for the 80 messages a second that a number may send. */
const WINDOW = 32;

/**
 * The driver of WhatsApp's Cloud API, for official business numbers: HTTP out, webhooks in, no connection that is kept.
 * The network drops no duplicate, so what it did not answer is never sent again; a status tells what became of it
 * (docs/decisions/0038-cloud-api.md).
 */
export function createCloudDriver(options: CloudDriverOptions): NetworkDriver {
  const { graph, callbackUrl, log, clock = systemClock, sendTimeoutMs = 30_000, window = WINDOW } = options;
  const deps = { graph, callbackUrl, log, clock, sendTimeoutMs };
  return {
    name: 'whatsapp-cloud',
    can: abilitiesOf({ sends: COMPOSERS, answers: ACTIONS, lacks: LACKS, pairsByCode: false }),
    reach: ['user_ids'],
    dedupes: false,
    window,
    order: 'chat',
    outcome: 'told',
    open: async (request, sink) => openSession(deps, request, sink),
  };
}
