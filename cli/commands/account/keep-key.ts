import type { Context } from '../../context.ts';
import { UsageError } from '../../fault.ts';

/** UsageError when the profile holds a key already: it was shown once, and the new one would take its place. */
export function refuseToOverwriteKey({ profile, url }: Context): void {
  if (!profile.account(url).api_key) return;
  throw new UsageError(
    `the profile ${profile.name} holds a key of ${url}, which cannot be shown again: give another --profile, or msgctl logout first`,
  );
}
