import { UsageError } from './fault.ts';

/**
 * The address of a service, without trailing slashes. Throws UsageError for one that no client takes, and does not
 * repeat it: it may hold a password.
 */
export function addressOf(given: string, flag: string): string {
  const url = URL.canParse(given) ? new URL(given) : null;
  // A scheme without slashes is read all the same, but is a typing error.
  if (!url || !/^https?:\/\//.test(given)) throw new UsageError(`${flag} must be an http or https URL`);
  if (url.username || url.password || url.search || url.hash)
    throw new UsageError(`${flag} must be an origin and a path, without a user, a query or a fragment`);
  let end = given.length;
  while (given[end - 1] === '/') end -= 1;
  return given.slice(0, end);
}
