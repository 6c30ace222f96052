import type { AuthSubject } from '../../access/forget-cached.ts';
import type { Principal } from '../../access/principal.ts';
import type { Bus } from '../../platform/broker/bus.ts';
import type { Clock } from '../../platform/process/clock.ts';

interface Entry {
  principal: Principal;
  /** Monotonic milliseconds, so that setting the clock back prolongs no entry. */
  goodUntilMs: number;
  /** When the credential expires (a JWT's exp), by the application's clock. */
  endsAtMs: number;
}

/**
 * Principals by the exact text of their credential. It is on the path of every request: a look-up costs a few
 * hundred ns.
 */
export interface PrincipalCache {
  get(proof: string): Principal | null;
  /** Caches until `endsAtMs`, at most for the TTL, unless an invalidation came after `mark`. */
  set(proof: string, principal: Principal, mark: number, endsAtMs: number): void;
  /** To be taken before a look-up begins: what it reads may be invalidated before it is stored. */
  mark(): number;
  forget(subject: AuthSubject): void;
  /** False while the bus is down: entries could not be invalidated then. */
  usable(): boolean;
}

const ENTRIES_MAX = 20_000;

export function createPrincipalCache(deps: { bus: Bus; clock: Clock; ttlMs: number }): PrincipalCache {
  const { bus, clock, ttlMs } = deps;
  const entries = new Map<string, Entry>();
  let generation = 0;

  function forget(subject: string): void {
    generation++;
    const [kind, text] = subject.split(':');
    const id = Number(text);
    if (!Number.isSafeInteger(id)) {
      entries.clear();
      return;
    }
    for (const [proof, { principal }] of entries) {
      const theirs =
        kind === 'company' ? principal.companyId : kind === 'user' ? principal.userId : principal.tokenId;
      if (theirs === id) entries.delete(proof);
    }
  }

  bus.on('auth', forget);
  bus.onReset(() => {
    generation++;
    entries.clear();
  });

  return {
    get(proof) {
      if (!bus.isUp()) return null;
      const entry = entries.get(proof);
      if (entry === undefined) return null;
      if (entry.goodUntilMs > performance.now() && entry.endsAtMs > clock.now().getTime())
        return entry.principal;
      entries.delete(proof);
      return null;
    },
    set(proof, principal, mark, endsAtMs) {
      if (mark !== generation || !bus.isUp()) return;
      // Full: the oldest entry is evicted. An active caller is cached again at its next request.
      if (entries.size >= ENTRIES_MAX) entries.delete(entries.keys().next().value as string);
      entries.set(proof, { principal, goodUntilMs: performance.now() + ttlMs, endsAtMs });
    },
    mark: () => generation,
    forget,
    usable: () => bus.isUp(),
  };
}
