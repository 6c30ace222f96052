import type { NetworkChange } from '@posthorn/core/network/driver.ts';

/** Maximum changes of one instance that are held, and their size as JSON together. */
const HELD_MAX = 1_000;
const HELD_MAX_BYTES = 1024 * 1024;

/**
 * Changes that arrived before their message: official numbers promise no order, and repeat what was refused after what came
 * later; a history comes in parts, for minutes. Held in memory, as early receipts are.
 */
export interface EarlyChanges {
  hold(change: NetworkChange): void;
  /** Gives the held changes of these messages, in their order, and holds them no longer. */
  take(networkIds: readonly string[]): NetworkChange[];
}

export function createEarlyChanges(): EarlyChanges {
  const held = new Map<NetworkChange, number>();
  let bytes = 0;
  function drop(change: NetworkChange): void {
    bytes -= held.get(change) ?? 0;
    held.delete(change);
  }
  return {
    hold(change) {
      const size = Buffer.byteLength(JSON.stringify(change));
      held.set(change, size);
      bytes += size;
      // Anyone can change messages that never arrive.
      while (held.size > HELD_MAX || bytes > HELD_MAX_BYTES) drop(held.keys().next().value!);
    },
    take(networkIds) {
      if (held.size === 0) return [];
      const ids = new Set(networkIds);
      const taken = [...held.keys()].filter(({ networkId }) => ids.has(networkId));
      for (const change of taken) drop(change);
      return taken;
    },
  };
}
