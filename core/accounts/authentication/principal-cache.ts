import type { AuthSubject } from '../../access/forget-cached.ts';
import type { Principal } from '../../access/principal.ts';
import type { Bus } from '../../platform/bus.ts';
import type { Clock } from '../../platform/clock.ts';

interface Entry {
  principal: Principal;
  /** Monotonic milliseconds: a clock that is set back keeps nothing alive. */
  goodUntilMs: number;
  /** When the proof itself ends (a JWT's exp), by the clock of the house. */
  endsAtMs: number;
}

/** Principals by the very text that proved them; on the path of every request, so a look-up is a few hundred ns. */
export interface PrincipalCache {
  get(proof: string): Principal | null;
  /** Remembers until `endsAtMs`, at most for the TTL, unless something was forgotten since `mark`. */
  set(proof: string, principal: Principal, mark: number, endsAtMs: number): void;
  /** Taken before a look-up begins: what it reads may be forgotten before it is stored. */
  mark(): number;
  forget(subject: AuthSubject): void;
  /** False while the bus is down: what is cached then can't be called back. */
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
      // Full: the oldest goes. Whoever is active is back in it at the next request.
      if (entries.size >= ENTRIES_MAX) entries.delete(entries.keys().next().value as string);
      entries.set(proof, { principal, goodUntilMs: performance.now() + ttlMs, endsAtMs });
    },
    mark: () => generation,
    forget,
    usable: () => bus.isUp(),
  };
}
