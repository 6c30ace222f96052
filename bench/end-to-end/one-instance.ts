import { controlOf } from '@posthorn/test/network/sandbox-harness.ts';
import type { BenchDatabases } from '../servers.ts';
import { median } from '../statistics.ts';
import { measureRate } from './drive.ts';
import { startStandalone } from './pipelines.ts';
import { startReceiver } from './receiver.ts';

/** Messages per second of one number, in order, on a network that answers after `roundTripMs`. */
export async function measureOneInstance(
  databases: BenchDatabases,
  options: { rounds: number; roundTripMs: number; messages: number },
): Promise<{ messagesPerSecond: number; outOfOrder: number }> {
  const receiver = await startReceiver();
  const pipeline = await startStandalone(databases, receiver, {
    database: `bench_one_${options.roundTripMs}`,
    instances: 1,
  });
  try {
    const control = controlOf(pipeline.sandboxUrl!);
    await control.post('/faults', { kind: 'delay', delay_ms: options.roundTripMs });
    const rates: number[] = [];
    for (let round = 0; round < options.rounds; round += 1)
      rates.push(await measureRate(pipeline.target, receiver, options.messages));
    return { messagesPerSecond: median(rates), outOfOrder: await countOutOfOrder(pipeline.sandboxUrl!) };
  } finally {
    await pipeline.stop();
    receiver.close();
  }
}

/** Counts messages that the network received after a message that was accepted later. */
async function countOutOfOrder(sandboxUrl: string): Promise<number> {
  const { entries } = await controlOf(sandboxUrl).get('/ledger?limit=50000');
  // Ids of one process grow in the order of its accepts.
  return entries.filter(({ id }: { id: string }, at: number) => at > 0 && id < entries[at - 1].id).length;
}
