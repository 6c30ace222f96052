import { createHmac } from 'node:crypto';
import { apiError } from '@posthorn/contract/api-error.ts';
import { z } from 'zod/v4';
import { askGraph, type GraphAddress, GraphRefused } from '../network/graph-api.ts';

/** The credentials that a user enters (contract/messaging/instances.ts). */
export interface GivenCredentials {
  phone_number_id: string;
  business_account_id: string;
  access_token: string;
  app_secret: string;
}

const number = z.object({ display_phone_number: z.string(), verified_name: z.string().catch('') });
const numbers = z.object({
  data: z.array(z.object({ id: z.string() })),
  paging: z
    .object({
      cursors: z.object({ after: z.string().optional() }).optional(),
      // Without it there is no further page, although there is a cursor.
      next: z.string().optional(),
    })
    .nullish()
    .catch(null),
});

/** Somebody waits for the answer. */
const ASK_MS = 8_000;
const PAGE = 500;
/** Meta may answer with smaller pages than it is asked for. */
const PAGES_MAX = 20;

/**
 * Asks Meta whether these belong together: the token for the number, the secret for the token, the number for the account.
 * Answers the number (digits only) and its name. 422 CREDENTIALS_REFUSED with Meta's words; 503 SERVICE_UNAVAILABLE when
 * Meta does not answer.
 */
export async function checkCredentials(
  graph: GraphAddress,
  given: GivenCredentials,
): Promise<{ phone: string; name: string }> {
  const { phone_number_id: numberId, business_account_id: accountId, access_token: token } = given;
  // Where it is given, Meta compares it.
  const proof = createHmac('sha256', given.app_secret).update(token).digest('hex');
  const ask = (path: string) => askGraph(graph, { method: 'GET', path, token, timeoutMs: ASK_MS });
  try {
    const found = await ask(
      `/${numberId}?fields=display_phone_number,verified_name&appsecret_proof=${proof}`,
    );
    const { display_phone_number: shown, verified_name: name } = number.parse(found);
    if (!(await hasNumber(ask, accountId, numberId)))
      throw apiError('CREDENTIALS_REFUSED', {
        message: 'business_account_id: the number does not belong to this account',
      });
    return { phone: shown.replace(/\D/g, ''), name };
  } catch (cause) {
    if (cause instanceof GraphRefused)
      throw apiError('CREDENTIALS_REFUSED', {
        message: `the network refused the credentials: ${cause.message}`,
        cause,
      });
    if (cause instanceof Error && cause.name === 'ApiError') throw cause;
    throw apiError('SERVICE_UNAVAILABLE', { cause, headers: { 'retry-after': '5' } });
  }
}

async function hasNumber(
  ask: (path: string) => Promise<unknown>,
  accountId: string,
  numberId: string,
): Promise<boolean> {
  const query = new URLSearchParams({ fields: 'id', limit: String(PAGE) });
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const { data, paging } = numbers.parse(await ask(`/${accountId}/phone_numbers?${query}`));
    if (data.some(({ id }) => id === numberId)) return true;
    const after = paging?.next && paging.cursors?.after;
    if (!after) return false;
    query.set('after', after);
  }
  return false;
}
