import type { AccountDeps } from '../deps.ts';

/**
 * Takes the wish for a reset link down, for known and unknown addresses with the same one insert: that the
 * answer is always 202 would help little if it came later for those who exist. The worker finds out who it
 * is and sends the link (prepare-password-reset.ts).
 */
export async function requestPasswordReset(
  deps: Pick<AccountDeps, 'db' | 'mails'>,
  input: { email: string; traceId: string | null },
): Promise<void> {
  await deps.mails.queueResetRequest(deps.db, input);
}
