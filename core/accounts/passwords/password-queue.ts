/** Who wants a password hashed or verified. */
export interface PasswordAsker {
  /** Whose turns it takes: an address, a user. Jobs of one key wait for each other, not for those of others. */
  key: string;
  /** Logged in, or at a place where a login succeeded lately: these have turns that strangers can't take. */
  isTrusted: boolean;
}

export interface FairQueue<Job> {
  /** False: there is no room for it, which its asker has to be told. */
  push(job: Job, asker: PasswordAsker): boolean;
  /** The next one to do, or undefined. */
  next(): Job | undefined;
  size(): number;
}

/** Of four turns in a row three are of the trusted, while there are any. */
const TURNS = 4;
interface Waiting<Job> {
  job: Job;
  asker: PasswordAsker;
}

/**
 * A queue that nobody can fill for the others. The trusted and the strangers wait apart, each key in a line of
 * its own, and the lines take turns: 400 addresses that guess cost a known one three quarters of a thread at
 * least, and one address that guesses 400 times costs another one a single turn.
 *
 * When it is full, the longest line gives up its last; one that comes with a longer line than any is refused.
 * `lost` is told what was given up. `capacity` is asked at every push: how many may wait in either half.
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

/** Lines by key that take turns: a line that was served goes behind the others. */
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
    /** The last of the longest line, if that is longer than `key`'s would be. */
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
