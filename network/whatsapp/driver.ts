import { abilitiesOf } from '@posthorn/core/network/abilities.ts';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import { type Clock, systemClock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { ACTIONS } from './actions.ts';
import { createClientVersions } from './client-version.ts';
import { createIntake, type Intake } from './intake.ts';
import { createUnreadableBook } from './unreadable.ts';
import { openSession } from './whatsapp-session.ts';
import { COMPOSERS, LACKS } from './wire/outbound.ts';

export interface WhatsAppDriverOptions {
  /** The network's WebSocket address. */
  url: string;
  log: Pick<Log, 'debug' | 'warn' | 'error'>;
  clock?: Clock;
  /** A certificate to trust besides the system's, in PEM, e.g. of a simulated network. */
  ca?: string;
  /** Whether instances may use proxies at private addresses. */
  allowPrivateProxies?: boolean;
  /** How many sends of a session may be without an answer; see `NetworkDriver.window`. */
  window?: number;
  /** A send unacknowledged for this long is sent again. */
  sendTimeoutMs?: number;
  /** A send unacknowledged for this long on one connection is given up. */
  giveUpMs?: number;
  /** How much received data its sessions may hold; default: `LIMITS`. */
  intake?: Intake;
}

const WINDOW = 32;

/**
 * The driver of WhatsApp, using the library in `library/`: one WebSocket per session, without reconnecting
 * except when the network requires it after a pairing. A message is sent again only with the bytes that its first
 * send stored, which no receiver can decrypt a second time (docs/decisions/0027-whatsapp.md).
 */
export function createWhatsAppDriver(options: WhatsAppDriverOptions): NetworkDriver {
  const clock = options.clock ?? systemClock;
  const deps = {
    url: options.url,
    log: options.log,
    clock,
    ca: options.ca,
    allowPrivateProxies: options.allowPrivateProxies ?? false,
    sendTimeoutMs: options.sendTimeoutMs ?? 30_000,
    giveUpMs: options.giveUpMs ?? 10 * 60_000,
    unreadable: createUnreadableBook(() => clock.now().getTime()),
    cuts: new Map(),
    versions: createClientVersions({
      ...{ url: options.url, log: options.log },
      nowMs: () => clock.now().getTime(),
    }),
    intake: options.intake ?? createIntake(),
  };
  return {
    name: 'whatsapp',
    can: abilitiesOf({ sends: COMPOSERS, answers: ACTIONS, lacks: LACKS, pairsByCode: true }),
    dedupes: true,
    window: options.window ?? WINDOW,
    open: (request, sink) => openSession(deps, request, sink),
  };
}
