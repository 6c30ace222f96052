import { waitFor } from '@posthorn/test/support/process.ts';
import { cpuTimeUs } from '../cpu/process-time.ts';
import { type Child, startChild } from './child.ts';
import type { Side } from './side.ts';

/** The library alone, with its keys in memory. */
export async function startFloor(
  network: Child,
  at: { url: string; root: string },
  accounts: number,
): Promise<Side> {
  const child = startChild('library-main.ts');
  await child.ask('start', at);
  const numbers: string[] = [];
  for (let nth = 0; nth < accounts; nth += 1) {
    const qr = await child.ask<string>('open');
    numbers.push(await network.ask<string>('pair', { qr }));
    await child.ask('ready');
  }
  return {
    name: 'the library, keys in memory',
    numbers,
    send: (texts, atOnce) => child.ask<number>('send', { texts, atOnce }),
    async received(texts) {
      const times = await waitFor(async () => {
        const found = Object.values(await child.ask<Record<string, number>>('received', { texts }));
        return found.length === texts.length && found;
      }, 120_000);
      return Math.max(...times);
    },
    costs: async () => ({ cpuMs: cpuTimeUs(child.pid) / 1_000, postgresMs: 0, commits: 0 }),
    stop: async () => child.stop(),
  };
}
