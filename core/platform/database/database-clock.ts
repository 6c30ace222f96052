import { dateIdsBy } from '../ids.ts';
import { type Clock, systemClock } from '../process/clock.ts';
import type { Log } from '../process/log.ts';
import { startLoop } from '../process/loop.ts';
import type { Check } from '../process/readiness.ts';
import type { Shutdown } from '../process/shutdown.ts';
import { createDb } from './db.ts';
import { oneRow } from './one-row.ts';

/** Crystals drift apart by some 50 µs a second; a database that failed over may have another time altogether. */
const MEASURE_EVERY_MS = 5_000;
/** More than this between the process's own clock and the database's is told. */
const OFF_FROM_MS = 1_000;
/** One statement; a database that stalls is asked again. */
const STATEMENT_MS = 5_000;

/** The database's time, as one question found it. */
export interface Measurement {
  /** Monotonic, of the process. */
  askedMs: number;
  answeredMs: number;
  /** Unix ms, read by the database between the two. */
  databaseMs: number;
}

/**
 * The offset from the monotonic time to the database's. The middle of the round trip at first; from then on a
 * measurement moves it only as far as it proves it wrong, so that a slow answer spoils nothing that a fast one found.
 * The error is at most the shortest round trip so far, and what the clocks drifted since.
 */
export function offsetAfter(
  offsetMs: number | null,
  { askedMs, answeredMs, databaseMs }: Measurement,
): number {
  const least = databaseMs - answeredMs;
  const most = databaseMs - askedMs;
  return offsetMs === null ? (least + most) / 2 : Math.min(Math.max(offsetMs, least), most);
}

/**
 * The database's clock, kept by this process over a connection of its own: its monotonic time and a measured offset
 * (docs/decisions/0030-the-databases-clock.md). The process's own time of day may be wrong and may jump; that is only
 * told. From here on new ids carry this time too. Rejects when the database is not there. Closed by `shutdown`.
 */
export async function openDatabaseClock(deps: { url: string; log: Log; shutdown: Shutdown }): Promise<Clock> {
  const { log, shutdown } = deps;
  const limits = { idleInTransactionMs: STATEMENT_MS, lockMs: STATEMENT_MS, statementMs: STATEMENT_MS };
  const db = createDb({ url: deps.url, poolSize: 1, log, name: 'clock', limits });
  shutdown.add('clock', () => db.close());
  let offsetMs: number | null = null;
  let wasOff = false;

  async function measure(): Promise<number> {
    const askedMs = performance.now();
    const { rows } = await db.query<{ ms: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
    );
    return offsetAfter(offsetMs, { askedMs, answeredMs: performance.now(), databaseMs: oneRow(rows).ms });
  }

  // The first answer waited for the connection too.
  offsetMs = await measure();
  offsetMs = await measure();
  const clock: Clock = {
    now: () => new Date(performance.now() + offsetMs!),
    sleep: systemClock.sleep,
    ownAheadMs: () => Math.round(Date.now() - performance.now() - offsetMs!),
  };

  function tellSkew(): void {
    const aheadMs = clock.ownAheadMs!();
    const isOff = Math.abs(aheadMs) > OFF_FROM_MS;
    if (isOff && !wasOff)
      log.warn({ aheadMs }, "the clock of this machine differs from the database's, which decides deadlines");
    if (!isOff && wasOff) log.info({ aheadMs }, "the clock of this machine agrees with the database's again");
    wasOff = isOff;
  }

  tellSkew();
  dateIdsBy(clock);
  const loop = startLoop({
    everyMs: MEASURE_EVERY_MS,
    waitsFirst: true,
    async run() {
      offsetMs = await measure();
      tellSkew();
    },
    // The time goes on from the last measurement.
    onError: (err) => log.debug({ err }, 'the database could not be asked for its time'),
  });
  shutdown.add('clock measurements', () => loop.stop());
  return clock;
}

/** How far the process's own clock is off, if that is worth telling. */
export function clockRemark(clock: Clock): string | null {
  const aheadMs = clock.ownAheadMs?.() ?? 0;
  if (Math.abs(aheadMs) <= OFF_FROM_MS) return null;
  const direction = aheadMs > 0 ? 'ahead of' : 'behind';
  return `the clock of this machine is ${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${direction} the database's`;
}

/** Always there: nothing that a process does depends on its own clock. */
export function clockCheck(clock: Clock): Check {
  return () => clockRemark(clock) ?? true;
}
