import type { NetworkDriver, NetworkSession } from '@posthorn/core/network/driver.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';

/** Shows an account as online or offline, according to its setting (INS-14). */
export interface OnlineKeeper {
  /** Returns immediately. A failed request is repeated at the next call. */
  apply(session: NetworkSession, wanted: boolean): void;
}

/** A session begins offline, so there is nothing to undo in a session that never went online. */
export function createOnlineKeeper(driver: Pick<NetworkDriver, 'can'>, log: Log): OnlineKeeper {
  let shownBy: NetworkSession | null = null;
  return {
    apply(session, wanted) {
      if (wanted === (shownBy === session) || !driver.can.has('presence_set')) return;
      const before = shownBy;
      shownBy = wanted ? session : null;
      const said = shownBy;
      session.act('presence_set', { state: wanted ? 'available' : 'unavailable' }).catch((err) => {
        log.debug({ err }, 'setting the online state at the network failed');
        if (shownBy === said) shownBy = before;
      });
    },
  };
}
