import assert from 'node:assert/strict';

/**
 * Reports a measured time beside its limit. It fails a test only in a whole run (`POSTHORN_FULL=1`), which is made on a
 * quiet machine: on a busy one a time says more about the neighbours than about the code.
 */
export function tellFigure(
  what: string,
  value: number,
  aim: { atMost?: number; atLeast?: number },
  unit = 'ms',
): void {
  const holds =
    value <= (aim.atMost ?? Number.POSITIVE_INFINITY) && value >= (aim.atLeast ?? Number.NEGATIVE_INFINITY);
  const bounds = [
    ...(aim.atLeast === undefined ? [] : [`at least ${aim.atLeast}`]),
    ...(aim.atMost === undefined ? [] : [`at most ${aim.atMost}`]),
  ].join(', ');
  const line = `${what}: ${Math.round(value * 1_000) / 1_000} ${unit} (aim: ${bounds})${holds ? '' : ', NOT MET'}`;
  console.log(line);
  if (process.env.POSTHORN_FULL) assert.ok(holds, line);
}

/** NaN without values. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
