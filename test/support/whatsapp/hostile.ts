import assert from 'node:assert/strict';
import type { NetworkDriver, SessionKey } from '@posthorn/core/network/driver.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import {
  connected,
  type Kept,
  MemoryKeys,
  newKept,
  newNumber,
  openPaired,
  openRecorded,
  type Recorded,
} from './driver-harness.ts';
import type { WhatsAppNetwork } from './network.ts';
import { startNetworkAndDriver } from './network-driver.ts';
import { type PhoneHandle, until } from './phone-handle.ts';

/** The largest entry of a PostgreSQL index. */
const INDEXED_MAX_BYTES = 2_600;

/** Refuses the names that PostgreSQL refuses, in reads and in writes. */
class StrictKeys extends MemoryKeys {
  override async read(kind: string, ids?: readonly string[]): Promise<Map<string, unknown>> {
    for (const id of ids ?? []) if (id.includes('\0')) throw new Error('invalid byte sequence: 0x00');
    return super.read(kind, ids);
  }

  override async write(changes: readonly SessionKey[]): Promise<void> {
    for (const { id } of changes) {
      if (id.includes('\0')) throw new Error('invalid byte sequence: 0x00');
      if (Buffer.byteLength(id) > INDEXED_MAX_BYTES) throw new Error('index row size exceeds the maximum');
    }
    return super.write(changes);
  }
}

/** An account on a simulated network with hostile senders. */
export interface BesiegedAccount {
  network: WhatsAppNetwork;
  driver: NetworkDriver;
  own: PhoneHandle;
  kept: Kept;
  recorded: Recorded;
  newPhone(): PhoneHandle;
  /** Opens the next session of the account, with the sink that records everything or with another. */
  open(sink?: Parameters<typeof openRecorded>[2]): Promise<Recorded>;
  /** Waits until the text arrives, which nothing before it may delay. */
  arrives(id: string): Promise<void>;
  /** Moves the clock forward. */
  pass(ms: number): void;
  close(): Promise<void>;
}

export async function startBesieged(): Promise<BesiegedAccount> {
  let aheadMs = 0;
  const clock = { ...systemClock, now: () => new Date(Date.now() + aheadMs) };
  const { network, driver } = await startNetworkAndDriver({ clock });
  const newPhone = () => network.phone(newNumber());
  const own = newPhone();
  const kept = { ...newKept(), keys: new StrictKeys() };
  const recorded = await openPaired(driver, own, kept);
  await until(() => recorded.history.length > 0, 'the history');
  const account: BesiegedAccount = {
    ...{ network, driver, own, kept, recorded, newPhone },
    pass: (ms) => {
      aheadMs += ms;
    },
    async open(options) {
      account.recorded = await openRecorded(driver, kept, options);
      await connected(account.recorded);
      return account.recorded;
    },
    async arrives(id) {
      const { inbound, ended } = account.recorded;
      await until(
        () => ended.length > 0 || inbound.some(({ networkId }) => networkId === id),
        'what came behind it',
      );
      assert.deepEqual(ended, []);
    },
    async close() {
      await account.recorded.session.close();
      await network.close();
    },
  };
  return account;
}
