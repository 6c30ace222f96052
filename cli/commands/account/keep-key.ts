import type { Context } from '../../context.ts';
import { UsageError } from '../../fault.ts';

/** Throws UsageError when the profile already holds a key: it was shown only once, and a new one would overwrite it. */
export function refuseToOverwriteKey({ profile, url }: Context): void {
  if (!profile.account(url).api_key) return;
  throw new UsageError(
    `the profile ${profile.name} holds a key of ${url}, which cannot be shown again: give another --profile, or msgctl logout first`,
  );
}
