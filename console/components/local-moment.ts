/**
 * The value of a `datetime-local` field for a moment, by the user's clock. It is made of the parts of the local time, because
 * older browsers tell the distance from UTC in whole minutes, and that of the years 2 and 202, which one types on the way to
 * 2026, has seconds.
 */
export function localMoment(iso: string): string {
  const at = new Date(iso);
  const digits = (part: number, count = 2) => String(part).padStart(count, '0');
  const day = [digits(at.getFullYear(), 4), digits(at.getMonth() + 1), digits(at.getDate())].join('-');
  return `${day}T${digits(at.getHours())}:${digits(at.getMinutes())}`;
}
