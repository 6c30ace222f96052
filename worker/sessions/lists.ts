/** Splits into the items that `first` picks and the others, keeping their order. */
export function split<T>(items: readonly T[], first: (item: T) => boolean): [T[], T[]] {
  const matching: T[] = [];
  const others: T[] = [];
  for (const item of items) (first(item) ? matching : others).push(item);
  return [matching, others];
}
