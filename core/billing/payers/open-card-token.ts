import { apiError } from '@posthorn/contract/api-error.ts';
import type { Sql } from '../../platform/database/db.ts';
import { openOrNull } from '../../platform/encryption.ts';
import type { BillingDeps } from '../deps.ts';

/**
 * The provider's token of a company's card. 400 CARD_REQUIRED for a card of somebody else, and for one that was sealed under an
 * ENCRYPTION_KEY that is lost.
 */
export async function openCardToken(
  { cipher }: Pick<BillingDeps, 'cipher'>,
  sql: Sql,
  { companyId, cardId }: { companyId: number; cardId: number },
): Promise<string> {
  const { rows } = await sql.query<{ token: Buffer }>(
    'SELECT token FROM billing.cards WHERE company_id = $1 AND id = $2 AND removed_at IS NULL',
    [companyId, cardId],
  );
  if (!rows[0]) throw apiError('CARD_REQUIRED', { message: 'card_id is not one of your cards' });
  const token = openOrNull<string>(cipher, rows[0].token);
  if (token === null) throw apiError('CARD_REQUIRED', { message: 'this card cannot be read: add it anew' });
  return token;
}
