import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { NetworkReceipt, SessionSink } from '@posthorn/core/network/driver.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createEventPump } from '@posthorn/network/sandbox/client/event-pump.ts';
import type { NetworkEvent } from '@posthorn/network/sandbox/frames.ts';

const MICROTASKS = 20;

function receiptOf(s: number): NetworkEvent {
  return { s, k: 'delivered', id: `m${s}`, chat: 'c', by: 'b', at: 0 };
}

test('events that come in the very moment in which a run ends are handed over too', async () => {
  for (let after = 0; after < MICROTASKS; after += 1) {
    const recorded: string[] = [];
    const acked: number[] = [];
    let late: Promise<void> | null = null;
    const receipts = (batch: readonly NetworkReceipt[]) => {
      recorded.push(...batch.map(({ networkId }) => networkId));
      const done = Promise.resolve();
      late ??= done.then(async () => {
        for (let i = 0; i < after; i += 1) await null;
        pump.push([receiptOf(2)]);
      });
      return done;
    };
    const pump = createEventPump({
      sink: { receipts } as unknown as SessionSink,
      ack: (seq) => void acked.push(seq),
      log: createLog({ level: 'silent', role: 'test' }),
    });
    pump.push([receiptOf(1)]);
    await delay(5);
    await late;
    await pump.stop();
    assert.deepEqual(
      [recorded, acked],
      [
        ['m1', 'm2'],
        [1, 2],
      ],
      `${after} microtasks after the record`,
    );
  }
});
