/** How long a send without an answer is repeated. */
import { SendUnanswered } from '@posthorn/core/network/driver.ts';

/** A message is not sent any more after so many connections have ended before its answer. */
const CUTS_MAX = 10;
const GIVEN_UP_MAX = 1_000;

/** How often connections ended before a send was answered, and since when; shared by successive sessions. */
export type Cuts = Map<string, { times: number; sinceMs: number }>;

/** The patience of one connection with the sends that are not answered. */
export interface Patience {
  /** A message is being sent, or sent again. Returns how long an answer is worth waiting for. */
  sent(id: string): number;
  /** It was sent on this connection, and its outcome is not recorded. */
  knows(id: string): boolean;
  /** This connection has stood long enough without an answer. */
  isOver(id: string): boolean;
  /** The connection ended without an answer. */
  cut(id: string): void;
  /** Connection after connection has ended without an answer. */
  isHopeless(id: string): boolean;
  giveUp(id: string): SendUnanswered;
  /** True once. */
  wasGivenUp(id: string): boolean;
  forget(ids: readonly string[]): void;
}

export function createPatience({ giveUpMs, cuts }: { giveUpMs: number; cuts: Cuts }): Patience {
  const firstSentAtMs = new Map<string, number>();
  const givenUp = new Set<string>();
  const leftMs = (sinceMs: number) => Math.max(0, sinceMs + giveUpMs - performance.now());
  return {
    sent(id) {
      const firstMs = firstSentAtMs.get(id) ?? performance.now();
      firstSentAtMs.set(id, firstMs);
      return leftMs(firstMs);
    },
    knows: (id) => firstSentAtMs.has(id),
    isOver: (id) => leftMs(firstSentAtMs.get(id)!) === 0,
    cut(id) {
      const { times, sinceMs } = cuts.get(id) ?? { times: 0, sinceMs: performance.now() };
      cuts.set(id, { times: times + 1, sinceMs });
    },
    isHopeless(id) {
      const cut = cuts.get(id);
      return cut !== undefined && cut.times >= CUTS_MAX && leftMs(cut.sinceMs) === 0;
    },
    giveUp(id) {
      givenUp.add(id);
      if (givenUp.size > GIVEN_UP_MAX) givenUp.delete(givenUp.values().next().value!);
      return new SendUnanswered();
    },
    wasGivenUp: (id) => givenUp.delete(id),
    forget(ids) {
      for (const id of ids) {
        firstSentAtMs.delete(id);
        cuts.delete(id);
      }
    },
  };
}
