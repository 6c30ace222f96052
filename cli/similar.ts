/** ` (did you mean x?)` for the candidate most similar to the given word; empty when none is similar. */
export function didYouMean(written: string, candidates: readonly string[]): string {
  const near = candidates
    .map((candidate) => ({ candidate, steps: distance(written.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, steps }) => steps <= Math.max(1, Math.floor(candidate.length / 3)))
    .sort((a, b) => a.steps - b.steps)[0];
  return near ? ` (did you mean ${near.candidate}?)` : '';
}

/** The number of letters to add, drop, replace or swap (Damerau-Levenshtein), computed row by row. */
function distance(a: string, b: string): number {
  let previous: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwap ? (previous[j - 2] as number) + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(change, swap, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    previous = row;
    row = next;
  }
  return row[b.length] as number;
}
