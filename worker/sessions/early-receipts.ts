import type { NetworkReceipt } from '@posthorn/core/network/driver.ts';

/** Maximum held receipts of one instance, and maximum remembered messages. */
const HELD_MAX = 10_000;
const RECORDED_MAX = 1000;

/**
 * Receipts that arrived before their message. Receipts and messages are handled separately, and a message of
 * another device with media is recorded only after its download, when the recipient may have read it long
 * ago. Held in memory: a receipt lost with its worker is made up for by the next receipt of the same message.
 */
export interface EarlyReceipts {
  /** Holds a receipt of an unknown message. True: the message was recorded meanwhile, so try again. */
  hold(receipt: NetworkReceipt): boolean;
  /** Notes that a message is recorded and returns the receipts held for it, in order. */
  of(networkId: string): NetworkReceipt[];
  /** Drops the message's receipts after they are recorded. */
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
      // Anyone can send receipts of messages that never arrive.
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
