/** Splits into the items that `first` picks and the others, keeping their order. */
export function split<T>(items: readonly T[], first: (item: T) => boolean): [T[], T[]] {
  const matching: T[] = [];
  const others: T[] = [];
  for (const item of items) (first(item) ? matching : others).push(item);
  return [matching, others];
}

/** Returns the results in order, with `limit` calls running at a time. */
export async function mapBounded<In, Out>(
  items: readonly In[],
  limit: number,
  work: (item: In) => Promise<Out>,
): Promise<Out[]> {
  const results = new Array<Out>(items.length);
  let next = 0;
  const runner = async () => {
    for (let i = next++; i < items.length; i = next++) results[i] = await work(items[i]!);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, runner));
  return results;
}
