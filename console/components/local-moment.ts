/**
 * A moment by the clock of the user, as a field for it has it. Its parts, because older browsers tell the distance from UTC
 * in whole minutes: while one types a year, that of the years 2 and 202 had seconds.
 */
export function localMoment(iso: string): string {
  const at = new Date(iso);
  const digits = (part: number, count = 2) => String(part).padStart(count, '0');
  const day = [digits(at.getFullYear(), 4), digits(at.getMonth() + 1), digits(at.getDate())].join('-');
  return `${day}T${digits(at.getHours())}:${digits(at.getMinutes())}`;
}
