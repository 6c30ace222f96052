import { setTimeout as delay } from 'node:timers/promises';
import { rssBytes } from '../cpu/process-time.ts';
import type { BenchDatabases } from '../servers.ts';
import { startChild } from './child.ts';
import { startPosthorn } from './posthorn.ts';

const PER_SECOND = 50;
const SECONDS = 20;
/** Time for the garbage collection after the pairings. */
const SETTLE_MS = 10_000;
const MB = 1024 * 1024;

export interface ManyNumbers {
  numbers: number;
  /** Memory of the process with all its parts, before the first number is paired. */
  firstMb: number;
  /** Memory with all numbers connected and idle. */
  connectedMb: number;
  kbANumber: number;
  /** Memory while all numbers in turn send {@link PER_SECOND} texts a second. */
  sendingMb: number;
  cpuMsAText: number;
  postgresMsAText: number;
  /** CPU of the process as a share of one core. */
  cpuShare: number;
  /** Time from the request until the contact has decrypted the text. */
  p50Ms: number;
  p99Ms: number;
}

/** Many WhatsApp numbers in one process: the memory of each, and the CPU of a text at 50 texts a second. */
export async function measureManyNumbers(databases: BenchDatabases, numbers: number): Promise<ManyNumbers> {
  const network = startChild('network-main.ts');
  let stop = async (): Promise<unknown> => network.stop();
  try {
    const at = await network.ask<{ url: string; root: string }>('start');
    const ours = await startPosthorn(databases, network, at, 0);
    stop = async () => {
      await ours.stop();
      network.stop();
    };
    const firstMb = rssBytes(ours.pid) / MB;
    const contacts: string[] = [];
    for (let nth = 0; nth < numbers; nth += 1) {
      await ours.pair();
      contacts.push(await network.ask<string>('contact'));
    }
    await delay(SETTLE_MS);
    const connectedMb = rssBytes(ours.pid) / MB;

    // The first text to a contact asks for its keys.
    await ours.send(textsOf('first', contacts, numbers), 16);
    await network.ask('opened', { count: numbers });
    await delay(SETTLE_MS);

    const before = await ours.costs();
    const count = PER_SECOND * SECONDS;
    const texts = textsOf('timed', contacts, count);
    const sentAtMs = new Map<string, number>();
    const sends: Promise<unknown>[] = [];
    const sinceMs = performance.now();
    for (const [nth, text] of texts.entries()) {
      await delay(Math.max(0, sinceMs + (nth * 1_000) / PER_SECOND - performance.now()));
      sends.push(ours.send([text], 1).then((begunAtMs) => sentAtMs.set(text.text, begunAtMs)));
    }
    await Promise.all(sends);
    const opened = await network.ask<Record<string, number>>('opened', { count });
    const sendingMb = rssBytes(ours.pid) / MB;
    const tookMs = performance.now() - sinceMs;
    const after = await ours.costs();
    const times = texts.map(({ text }) => opened[text]! - sentAtMs.get(text)!).sort((a, b) => a - b);
    const cpuMs = after.cpuMs - before.cpuMs;
    return {
      numbers,
      firstMb,
      connectedMb,
      kbANumber: ((connectedMb - firstMb) * 1024) / numbers,
      sendingMb,
      cpuMsAText: cpuMs / count,
      postgresMsAText: (after.postgresMs - before.postgresMs) / count,
      cpuShare: cpuMs / tookMs,
      p50Ms: times[Math.floor(count * 0.5)]!,
      p99Ms: times[Math.floor(count * 0.99)]!,
    };
  } finally {
    await stop();
  }
}

function textsOf(name: string, contacts: readonly string[], count: number) {
  return Array.from({ length: count }, (_, nth) => {
    const account = nth % contacts.length;
    return { account, to: contacts[account]!, text: `Your order ${name} ${nth} has left our warehouse.` };
  });
}
