/** The size of long tests: small in `npm test`, `larger` with `--slow` or `--all`, `whole` in `npm run test:faults`. */
const SIZE = process.env.POSTHORN_FAULTS;

export const IS_WHOLE = SIZE === 'whole';

/** The one of the three values for the size of this run. */
export function sized<T>(small: T, larger: T, whole: T): T {
  if (IS_WHOLE) return whole;
  return SIZE === 'larger' ? larger : small;
}
