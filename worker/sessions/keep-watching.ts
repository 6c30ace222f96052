import type { Jid } from '@posthorn/contract/jid.ts';
import { type NetworkSession, SendRefused } from '@posthorn/core/network/driver.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';

/**
 * The contacts whose presence was subscribed to, until the instance disconnects. The network drops
 * subscriptions with the connection, so they are renewed when it comes back.
 */
export interface PresenceWatch {
  add(jid: Jid): void;
  /** Returns immediately; contacts the network refuses are dropped. */
  renew(session: NetworkSession): void;
  clear(): void;
}

/** Maximum per instance; the oldest are dropped. */
const MAX = 1_000;

export function createPresenceWatch(log: Log): PresenceWatch {
  const watched = new Set<Jid>();

  async function askAgain(session: NetworkSession, jids: readonly Jid[]): Promise<void> {
    for (const jid of jids) {
      if (!watched.has(jid)) continue;
      await session.act('presence_subscribe', { jid }).catch((err) => {
        if (!(err instanceof SendRefused)) throw err;
        watched.delete(jid);
      });
    }
  }

  return {
    add(jid) {
      watched.delete(jid);
      watched.add(jid);
      const [oldest] = watched;
      if (watched.size > MAX && oldest !== undefined) watched.delete(oldest);
    },
    renew(session) {
      if (watched.size === 0) return;
      askAgain(session, [...watched]).catch((err) => {
        log.debug({ err }, 'renewing presence subscriptions failed');
      });
    },
    clear: () => watched.clear(),
  };
}
