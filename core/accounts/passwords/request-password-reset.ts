import type { AccountDeps } from '../deps.ts';

/**
 * Records a request for a reset link, with the same single insert for known and unknown addresses: answering always
 * 202 would help little if the timing differed. The worker looks for the user and sends the link
 * (prepare-password-reset.ts).
 */
export async function requestPasswordReset(
  deps: Pick<AccountDeps, 'db' | 'mails'>,
  input: { email: string; traceId: string | null },
): Promise<void> {
  await deps.mails.queueResetRequest(deps.db, input);
}
