import { setTimeout as delay } from 'node:timers/promises';
import type { BenchDatabases } from '../servers.ts';
import { median } from '../statistics.ts';
import { startChild } from './child.ts';
import { startFloor } from './floor.ts';
import { type Measured, playRound, type Round, type Setting } from './measure.ts';
import { startPosthorn } from './posthorn.ts';
import type { Side } from './side.ts';

const ACCOUNTS = 20;
const SINGLES = 40;
/**
 * A process that has heard from no other one for 30 s (`core/platform/broker/bus.ts`) sends no wake-ups. Each wake-up
 * is a transaction.
 */
const ALONE_MS = 45_000;

export interface WhatsAppCompared {
  /** One row for each measurement; medians of the rounds, costs per text. */
  rows: ({ name: string; work: string; p50Ms: number | null } & Measured)[];
  /** Texts per second until they are decrypted: the lower of one account and 20. */
  sendsVsLibrary: number;
  /** CPU of the process per text of a burst: the higher of one account and 20. */
  cpuVsLibrary: number;
  receivedVsLibrary: number;
  /** One text at a time, from the request until it is decrypted. */
  latencyVsLibrary: number;
  /**
   * Writing transactions per text: for texts sent one at a time, and the higher of the bursts of one account and 20.
   */
  commits: number;
  commitsInBursts: number;
}

/**
 * Compares our service with the library alone, which keeps its keys in memory and writes nothing. Both run in their own
 * processes on one simulated network and take turns in each round.
 */
export async function compareWithLibrary(
  databases: BenchDatabases,
  options: { rounds: number; texts: number },
): Promise<WhatsAppCompared> {
  const network = startChild('network-main.ts');
  const sides: Side[] = [];
  try {
    const at = await network.ask<{ url: string; root: string }>('start');
    const floor = await startFloor(network, at, ACCOUNTS);
    sides.push(floor);
    const ours = await startPosthorn(databases, network, at, ACCOUNTS);
    sides.push(ours);
    const alone = delay(ALONE_MS);
    const settings = [await settingOf(ours, network), await settingOf(floor, network)];
    for (const setting of settings) await playRound(setting, { texts: ACCOUNTS * 2, singles: 2 });
    await alone;
    const rounds: Round[][] = settings.map(() => []);
    for (let round = 0; round < options.rounds; round += 1) {
      for (const [nth, setting] of settings.entries())
        rounds[nth]!.push(await playRound(setting, { texts: options.texts, singles: SINGLES }));
    }
    const problems = await network.ask<string[]>('problems');
    if (problems.length > 0) throw new Error(`the network met problems: ${problems.slice(0, 3)}`);
    return compare(settings.map(({ side }, nth) => ({ name: side.name, rounds: rounds[nth]! })));
  } finally {
    for (const side of sides) await side.stop();
    network.stop();
  }
}

async function settingOf(side: Side, network: Setting['network']): Promise<Setting> {
  const contacts: string[] = [];
  for (let nth = 0; nth < ACCOUNTS; nth += 1) contacts.push(await network.ask<string>('contact'));
  return { side, network, contacts };
}

const WORK = {
  one: 'sent by 1 account',
  all: `sent by ${ACCOUNTS} accounts`,
  received: 'received by 1 account',
  single: 'sent one at a time',
} as const satisfies Record<keyof Round, string>;

function compare(sides: readonly { name: string; rounds: readonly Round[] }[]): WhatsAppCompared {
  const [ours, floor] = sides.map(({ rounds }) => rounds) as [readonly Round[], readonly Round[]];
  const ratio = (pick: (round: Round) => number) =>
    median(ours.map((round, nth) => pick(round) / pick(floor[nth]!)));
  const rows = Object.entries(WORK).flatMap(([kind, work]) =>
    sides.map(({ name, rounds }) => {
      const of = (pick: (measured: Measured) => number) =>
        median(rounds.map((round) => pick(round[kind as keyof Round])));
      return {
        ...{ name, work, perSecond: of(({ perSecond }) => perSecond) },
        p50Ms: kind === 'single' ? median(rounds.map(({ single }) => single.p50Ms)) : null,
        cpuMs: of(({ cpuMs }) => cpuMs),
        postgresMs: of(({ postgresMs }) => postgresMs),
        commits: of(({ commits }) => commits),
      };
    }),
  );
  return {
    rows,
    sendsVsLibrary: Math.min(
      ratio(({ one }) => one.perSecond),
      ratio(({ all }) => all.perSecond),
    ),
    cpuVsLibrary: Math.max(
      ratio(({ one }) => one.cpuMs),
      ratio(({ all }) => all.cpuMs),
    ),
    receivedVsLibrary: ratio(({ received }) => received.perSecond),
    latencyVsLibrary: ratio(({ single }) => single.p50Ms),
    commits: median(ours.map(({ single }) => single.commits)),
    commitsInBursts: Math.max(
      median(ours.map(({ one }) => one.commits)),
      median(ours.map(({ all }) => all.commits)),
    ),
  };
}
