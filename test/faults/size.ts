/** The size of the fault tests: `whole` with `npm run test:faults`, `larger` in `npm run test:slow`, small in `npm test`. */
const SIZE = process.env.POSTHORN_FAULTS;

export const IS_WHOLE = SIZE === 'whole';

/** What of the three is meant for the size of this run. */
export function sized<T>(small: T, larger: T, whole: T): T {
  if (IS_WHOLE) return whole;
  return SIZE === 'larger' ? larger : small;
}
