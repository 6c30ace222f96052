/** The part of a table that fits on a screen. */

export interface Column {
  title: string;
  width: number;
  /** Takes the remaining width of the line. */
  isGrowing?: boolean;
  /** Columns with the highest number are dropped first when the line is narrow; 0 always stays. */
  dispensable: number;
}

const GAP = 2;

/** The width of each column; 0 for a column that does not fit. */
export function fitColumns(columns: readonly Column[], width: number): number[] {
  const order = columns.map(({ dispensable }, at) => ({ at, dispensable }));
  order.sort((a, b) => b.dispensable - a.dispensable);
  const shown = new Set(columns.keys());
  const needed = () => [...shown].reduce((sum, at) => sum + (columns[at]?.width ?? 0) + GAP, -GAP);
  for (const { at, dispensable } of order) {
    if (needed() <= width || dispensable === 0) break;
    shown.delete(at);
  }
  const left = Math.max(0, width - needed());
  const growing = columns.findIndex(({ isGrowing }, at) => isGrowing && shown.has(at));
  return columns.map((column, at) => {
    if (!shown.has(at)) return 0;
    return Math.min(width, column.width + (at === growing ? left : 0));
  });
}

/** Rows whose cells hold every word of the filter, in any case. */
export function filterRows<T extends { cells: readonly string[] }>(rows: readonly T[], filter: string): T[] {
  const words = filter.toLowerCase().split(' ').filter(Boolean);
  if (words.length === 0) return [...rows];
  return rows.filter(({ cells }) => {
    const text = cells.join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** The index of the first shown row, such that the selected row is visible. */
export function firstShown(count: number, selected: number, height: number): number {
  return Math.max(0, Math.min(selected - Math.floor(height / 2), count - height));
}

/** Breaks lines into pieces that fit, so that no part of a payload is hidden. */
export function wrapLines(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => {
    const pieces: string[] = [];
    const letters = [...line];
    for (let at = 0; at === 0 || at < letters.length; at += Math.max(1, width))
      pieces.push(letters.slice(at, at + Math.max(1, width)).join(''));
    return pieces;
  });
}
