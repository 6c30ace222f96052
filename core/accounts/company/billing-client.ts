import { withoutTrailingSlashes } from '../../platform/http/base-url.ts';
import { fetch } from '../../platform/http/fetch.ts';

/** The one thing messaging asks of billing, over the internal address (BIL-21). */
export interface BillingClient {
  /** Cancels, at once and at the provider, what the company still pays for; how many that were. */
  cancelSubscriptions(input: { companyId: number; traceId: string | null }): Promise<number>;
}

const TIMEOUT_MS = 20_000;

/**
 * `POST {base}/internal/v1/companies/{id}/cancel-subscriptions` with the header X-Internal-Secret; billing answers
 * 200 `{cancelled}`. Safe to repeat: what is cancelled is not counted again. Null when billing is not configured,
 * which account deletion answers with 502 (ACC-25).
 */
export function createBillingClient(options: {
  baseUrl: string | undefined;
  secret: string | undefined;
}): BillingClient | null {
  const { baseUrl, secret } = options;
  if (!baseUrl || !secret) return null;
  return {
    async cancelSubscriptions({ companyId, traceId }) {
      const url = `${withoutTrailingSlashes(baseUrl)}/internal/v1/companies/${companyId}/cancel-subscriptions`;
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'x-internal-secret': secret, ...(traceId ? { 'x-trace-id': traceId } : {}) },
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (answer.status !== 200) throw new Error(`billing answered ${answer.status}`);
      const { cancelled } = (await answer.json()) as { cancelled?: unknown };
      if (!Number.isSafeInteger(cancelled)) throw new Error('billing did not say what it cancelled');
      return cancelled as number;
    },
  };
}
