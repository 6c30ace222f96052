/** Splits into the items that `first` picks and the others, keeping their order. */
export function split<T>(items: readonly T[], first: (item: T) => boolean): [T[], T[]] {
  const matching: T[] = [];
  const others: T[] = [];
  for (const item of items) (first(item) ? matching : others).push(item);
  return [matching, others];
}

/** Returns a function that runs work, `limit` at a time; whoever waits has its turn in order. */
export function inTurns(limit: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let free = limit;
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}
