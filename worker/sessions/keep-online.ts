import type { NetworkDriver, NetworkSession } from '@posthorn/core/network/driver.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';

/** Shows an account as online, or no longer, as its setting says (INS-14). */
export interface OnlineKeeper {
  /** Returns at once. What the network did not take is asked again the next time. */
  apply(session: NetworkSession, wanted: boolean): void;
}

/** A session begins as not online, so there is nothing to take back in one that never said otherwise. */
export function createOnlineKeeper(driver: Pick<NetworkDriver, 'can'>, log: Log): OnlineKeeper {
  let shownBy: NetworkSession | null = null;
  return {
    apply(session, wanted) {
      if (wanted === (shownBy === session) || !driver.can.has('presence_set')) return;
      const before = shownBy;
      shownBy = wanted ? session : null;
      const said = shownBy;
      session.act('presence_set', { state: wanted ? 'available' : 'unavailable' }).catch((err) => {
        log.debug({ err }, 'the network did not take whether the account is online');
        if (shownBy === said) shownBy = before;
      });
    },
  };
}
