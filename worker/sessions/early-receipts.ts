import type { NetworkReceipt } from '@posthorn/core/network/driver.ts';

/** Receipts of one instance that are held at most, and messages recorded last that are remembered. */
const HELD_MAX = 10_000;
const RECORDED_MAX = 1000;

/**
 * Receipts that came before their message. Receipts and messages take ways of their own, and a message of another device
 * with media is recorded only once that is fetched, when its recipient may have read it long ago. Held in memory: a
 * receipt that dies with its worker is made good by the next one of the same message.
 */
export interface EarlyReceipts {
  /** Holds a receipt of a message that is not known. True: the message was recorded meanwhile, so try again. */
  hold(receipt: NetworkReceipt): boolean;
  /** A message is recorded: the receipts that are held for it, in their order. */
  of(networkId: string): NetworkReceipt[];
  /** They are recorded, too. */
  forget(networkId: string): void;
}

export function createEarlyReceipts(): EarlyReceipts {
  const held = new Map<string, Map<string, NetworkReceipt>>();
  const recorded = new Set<string>();
  let size = 0;
  function forget(networkId: string): void {
    size -= held.get(networkId)?.size ?? 0;
    held.delete(networkId);
  }
  return {
    hold(receipt) {
      const { networkId, kind, by } = receipt;
      if (recorded.has(networkId)) return true;
      const others = held.get(networkId) ?? new Map<string, NetworkReceipt>();
      size += others.has(`${kind} ${by}`) ? 0 : 1;
      others.set(`${kind} ${by}`, receipt);
      held.set(networkId, others);
      // Anybody may send receipts of messages that never come.
      if (size > HELD_MAX) forget(held.keys().next().value!);
      return false;
    },
    of(networkId) {
      recorded.add(networkId);
      if (recorded.size > RECORDED_MAX) recorded.delete(recorded.keys().next().value!);
      return [...(held.get(networkId)?.values() ?? [])];
    },
    forget,
  };
}
