/** The header has whole seconds: the answer was made at any moment of one. */
const HALF_SECOND_MS = 500;

/**
 * The moment of an answer's time by the clock of this browser, which may differ from the service's by hours. Without a
 * `Date` header, it is taken as it stands.
 */
export function browserTime(at: string, headers: Headers): string {
  const now = Date.parse(headers.get('date') ?? '') + HALF_SECOND_MS;
  if (Number.isNaN(now)) return at;
  return new Date(Date.parse(at) - now + Date.now()).toISOString();
}
