/** The asker of a hash or a verification. */
export interface PasswordAsker {
  /**
   * The address or user whose turns the job takes. Jobs of one key wait for each other, not for those of other keys.
   */
  key: string;
  /** Logged in, or from an address with a recent login: these have turns that strangers cannot take. */
  isTrusted: boolean;
}

export interface FairQueue<Job> {
  /** False: the queue has no room, and the caller has to be told. */
  push(job: Job, asker: PasswordAsker): boolean;
  /** The next job, or undefined. */
  next(): Job | undefined;
  size(): number;
}

/** Three of four turns in a row go to trusted askers, while there are any. */
const TURNS = 4;
interface Waiting<Job> {
  job: Job;
  asker: PasswordAsker;
}

/**
 * A queue that no caller can fill for the others. Trusted callers and strangers wait apart, each key in a line of
 * its own, and the lines take turns: 400 guessing addresses leave a known one three quarters of a thread at least,
 * and one address that guesses 400 times costs another one a single turn.
 *
 * When it is full, the longest line drops its last job; a job whose line would be longer than any is refused.
 * `lost` is called with what was dropped. `capacity` is read at every push: how many may wait in either half.
 */
export function createFairQueue<Job>(options: {
  capacity: () => number;
  lost: (job: Job) => void;
}): FairQueue<Job> {
  const trusted = createLines<Job>();
  const strangers = createLines<Job>();
  let turn = 0;

  return {
    push(job, asker) {
      const lines = asker.isTrusted ? trusted : strangers;
      const capacity = Math.max(1, Math.floor(options.capacity()));
      if (lines.size() >= capacity) {
        const given = lines.giveUp(asker.key);
        if (given === undefined) return false;
        options.lost(given.job);
      }
      lines.push({ job, asker });
      return true;
    },
    next() {
      turn = (turn + 1) % TURNS;
      const [first, second] = turn === 0 ? [strangers, trusted] : [trusted, strangers];
      return (first.next() ?? second.next())?.job;
    },
    size: () => trusted.size() + strangers.size(),
  };
}

/** Lines by key, served in turn. */
function createLines<Job>() {
  const lines = new Map<string, Waiting<Job>[]>();
  let size = 0;

  function longest(): [string, Waiting<Job>[]] | undefined {
    let found: [string, Waiting<Job>[]] | undefined;
    for (const entry of lines) if (!found || entry[1].length > found[1].length) found = entry;
    return found;
  }

  return {
    size: () => size,
    length: (key: string) => lines.get(key)?.length ?? 0,
    push(waiting: Waiting<Job>): void {
      const line = lines.get(waiting.asker.key);
      if (line) line.push(waiting);
      else lines.set(waiting.asker.key, [waiting]);
      size += 1;
    },
    /** The last job of the longest line, if that line is longer than `key`'s would be. */
    giveUp(key: string): Waiting<Job> | undefined {
      const found = longest();
      if (!found || found[1].length <= (lines.get(key)?.length ?? 0) + 1) return undefined;
      size -= 1;
      return found[1].pop();
    },
    next(): Waiting<Job> | undefined {
      for (const [key, line] of lines) {
        lines.delete(key);
        const waiting = line.shift();
        if (waiting === undefined) continue;
        if (line.length > 0) lines.set(key, line);
        size -= 1;
        return waiting;
      }
      return undefined;
    },
  };
}
