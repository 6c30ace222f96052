import { loadAccepts, type Round } from '../load.ts';
import type { BenchServer } from '../servers.ts';
import { median } from '../statistics.ts';

export interface Row {
  name: string;
  acceptedPerSecond: number;
  p50Ms: number;
  p99Ms: number;
}

export interface Compared {
  rows: Row[];
  /** The first server's rate divided by the other's in the same round; the median over the rounds. */
  ratioTo(name: string): number;
}

/** Loads the servers in turn, round after round, so that a drift of the machine affects all of them. */
export async function compareAccepts(
  servers: readonly BenchServer[],
  options: { rounds: number; seconds: number },
): Promise<Compared> {
  for (const server of servers) await loadAccepts(server.target, Math.min(2, options.seconds));
  const rounds = new Map<string, Round[]>(servers.map((server) => [server.name, []]));
  for (let round = 0; round < options.rounds; round += 1) {
    for (const server of servers) {
      rounds.get(server.name)?.push(await loadAccepts(server.target, options.seconds));
    }
  }
  const of = (name: string, pick: (round: Round) => number) => (rounds.get(name) ?? []).map(pick);
  const ours = of(servers[0]!.name, (round) => round.acceptedPerSecond);
  return {
    rows: servers.map(({ name }) => ({
      name,
      acceptedPerSecond: median(of(name, (round) => round.acceptedPerSecond)),
      p50Ms: median(of(name, (round) => round.p50Ms)),
      p99Ms: median(of(name, (round) => round.p99Ms)),
    })),
    ratioTo(name) {
      const theirs = of(name, (round) => round.acceptedPerSecond);
      return median(ours.map((rate, round) => rate / (theirs[round] ?? Number.NaN)));
    },
  };
}
