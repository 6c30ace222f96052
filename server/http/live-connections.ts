import { apiError } from '@posthorn/contract/api-error.ts';
import type { Principal } from '@posthorn/core/access/principal.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';

/** Why the credentials of a live connection are no longer valid. */
export type CredentialsEnd = 'credentials_changed' | 'credentials_expired';

/** The credentials of a live connection, from the moment they were checked. */
export interface WatchedCredentials {
  /** Calls `end` once, when the credentials change or expire; immediately if they already have. */
  onEnd(end: (reason: CredentialsEnd) => void): void;
  /** Must be called when the connection is closed. */
  forget(): void;
}

/** Maximum concurrent streams in this process. */
export interface StreamLimits {
  perCompany: number;
  /** Per key, or per user with a JWT. */
  perCredential: number;
}

/** The live connections of this process, by credentials. */
export interface LiveConnections {
  /**
   * `sinceMs` must be before the credentials were looked up, monotonic: a change after it has already ended
   * them. Throws 429 RATE_LIMITED if the company or the credential is at its limit.
   */
  watch(principal: Principal, sinceMs: number): WatchedCredentials;
}

/** After a bus outage, connections end spread over this time, not all at once. */
const SPREAD_MS = 1_000;
/** Changes are remembered this long: admitting a request takes less. */
const REMEMBERED_MS = 60_000;
/** Nobody knows when another client closes its stream, so this is a guess. */
const RETRY_AFTER_S = 10;

interface Watched {
  owners: readonly string[];
  change(): void;
}

/** Recent changes: a lookup in progress at that time may have seen the old state. */
function createRecentChanges() {
  const changedAtMs = new Map<string, number>();
  let missedAtMs = Number.NEGATIVE_INFINITY;
  return {
    note(owner: string): void {
      const nowMs = performance.now();
      // Inserted again, so that the newest is last.
      changedAtMs.delete(owner);
      changedAtMs.set(owner, nowMs);
      for (const [oldest, atMs] of changedAtMs) {
        if (nowMs - atMs < REMEMBERED_MS) return;
        changedAtMs.delete(oldest);
      }
    },
    /** Changes up to now may have been missed. */
    noteMissed(): void {
      missedAtMs = performance.now();
    },
    hasSince: (owners: readonly string[], sinceMs: number): boolean =>
      missedAtMs >= sinceMs ||
      owners.some((owner) => (changedAtMs.get(owner) ?? Number.NEGATIVE_INFINITY) >= sinceMs),
  };
}

/**
 * Closes the connections of a company, user or key when it changes (suspended, revoked, logged out, password
 * changed), and those of a JWT when it expires: a client that is still allowed reconnects immediately with
 * its cursor and authenticates again. Changes during a bus outage are unknown, so every connection is closed
 * after one.
 */
// long: three indexes of the same connections, which change together
export function createLiveConnections(deps: {
  bus: Bus;
  clock: Clock;
  /** Without it, there are no limits. */
  limits?: StreamLimits;
}): LiveConnections {
  const { clock, limits } = deps;
  const byOwner = new Map<string, Set<Watched>>();
  const all = new Set<Watched>();
  const recent = createRecentChanges();
  deps.bus.on('auth', (payload) => {
    recent.note(payload);
    for (const { change } of [...(byOwner.get(payload) ?? [])]) change();
  });
  deps.bus.onReset((up) => {
    if (!up) return;
    recent.noteMissed();
    for (const { change } of all) setTimeout(change, Math.random() * SPREAD_MS).unref();
  });

  function checkRoom(owner: string, most: number | undefined): void {
    if (most === undefined || (byOwner.get(owner)?.size ?? 0) < most) return;
    throw apiError('RATE_LIMITED', {
      message: `no more than ${most} event streams can be open`,
      headers: { 'retry-after': String(RETRY_AFTER_S) },
    });
  }

  function add(watched: Watched): void {
    all.add(watched);
    for (const owner of watched.owners) {
      const set = byOwner.get(owner);
      if (set) set.add(watched);
      else byOwner.set(owner, new Set([watched]));
    }
  }

  function remove(watched: Watched): void {
    all.delete(watched);
    for (const owner of watched.owners) {
      const set = byOwner.get(owner);
      if (set?.delete(watched) && set.size === 0) byOwner.delete(owner);
    }
  }

  return {
    watch(principal, sinceMs) {
      const company = `company:${principal.companyId}`;
      const user = `user:${principal.userId}`;
      const credential = principal.tokenId === null ? `jwt of ${user}` : `token:${principal.tokenId}`;
      checkRoom(company, limits?.perCompany);
      checkRoom(credential, limits?.perCredential);

      let ended: CredentialsEnd | null = null;
      let onEnd: ((reason: CredentialsEnd) => void) | null = null;
      const expiry = new AbortController();
      const forget = () => {
        expiry.abort();
        remove(watched);
      };
      const end = (reason: CredentialsEnd) => {
        if (!all.has(watched)) return;
        forget();
        ended = reason;
        onEnd?.(reason);
      };
      const watched: Watched = {
        owners: [company, user, credential],
        change: () => end('credentials_changed'),
      };
      add(watched);
      if (recent.hasSince(watched.owners, sinceMs)) watched.change();
      if (principal.endsAtMs != null) {
        const leftMs = principal.endsAtMs - clock.now().getTime();
        clock.sleep(leftMs, expiry.signal).then(
          () => end('credentials_expired'),
          () => undefined,
        );
      }
      return {
        onEnd(then) {
          onEnd = then;
          if (ended !== null) then(ended);
        },
        forget,
      };
    },
  };
}
