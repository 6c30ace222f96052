import { apiError } from '@posthorn/contract/api-error.ts';
import type { CardDto, TokenizeCardBody } from '@posthorn/contract/billing/cards.ts';
import { CARDS_MAX } from '@posthorn/contract/limits.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import { localDate } from '../dates.ts';
import type { BillingDeps } from '../deps.ts';
import { type Profile, ProfileSchema } from '../entities.ts';
import { lockCompany } from '../lock-company.ts';
import { type CustomerFields, ProviderError } from '../provider/port.ts';

/**
 * Exchanges a card for the provider's token and keeps brand, last four digits, expiry and holder. The number
 * and the CVV live in this call's arguments and nowhere else: not in a row, a log or an error.
 *
 * Throws 404 PROFILE_NOT_FOUND, 422 CARD_REJECTED, also of a card too many, 503 SERVICE_UNAVAILABLE (nothing is stored then; a token
 * that the provider made meanwhile charges nobody).
 */
export async function tokenizeCard(
  deps: Pick<BillingDeps, 'db' | 'orm' | 'clock' | 'cipher' | 'provider'>,
  input: { companyId: number; card: TokenizeCardBody; remoteIp: string },
): Promise<CardDto> {
  const { card, companyId } = input;
  const profile = await deps.orm
    .forCompany(companyId)
    .findOne(ProfileSchema, { id: card.billing_profile_id });
  if (!profile) throw apiError('PROFILE_NOT_FOUND');
  const number = card.number.replace(/[\s-]/g, '');
  const expYear = card.exp_year < 100 ? 2000 + card.exp_year : card.exp_year;
  if (!isPlausible(number, card.cvv, card.exp_month, expYear)) throw apiError('CARD_REJECTED');
  // A card is good until its month ends.
  const lastMonth = `${expYear}-${String(card.exp_month).padStart(2, '0')}`;
  if (lastMonth < localDate(deps.clock.now()).slice(0, 7)) throw apiError('CARD_REJECTED');
  await requireRoom(deps.db, companyId);
  const holderName = card.holder_name || profile.legalName;
  const made = await askProvider(deps, {
    customerId: profile.asaasCustomerId,
    number,
    cvv: card.cvv,
    holderName,
    expMonth: card.exp_month,
    expYear,
    holder: customerFields(profile),
    remoteIp: input.remoteIp,
  });
  return deps.db.transaction(async (sql) => {
    const { now } = await lockCompany(sql, companyId, deps.clock);
    await requireRoom(sql, companyId);
    // The first card becomes the default.
    const { rows } = await sql.query<CardDto>(
      `INSERT INTO billing.cards (company_id, token, brand, last4, exp_month, exp_year, holder_name, is_default, created_at)
       SELECT $1, $2, $3, $4, $5, $6, $7,
              NOT EXISTS (SELECT FROM billing.cards WHERE company_id = $1 AND removed_at IS NULL), $8
       RETURNING id, brand, last4, exp_month, exp_year, holder_name, is_default`,
      [
        companyId,
        deps.cipher.seal(made.token),
        made.brand,
        made.last4,
        card.exp_month,
        expYear,
        holderName,
        now,
      ],
    );
    return oneRow(rows);
  });
}

/** The list of cards has no pages, and the provider keeps what nobody uses. */
async function requireRoom(sql: Sql, companyId: number): Promise<void> {
  const { rows } = await sql.query<{ cards: number }>(
    'SELECT count(*) AS cards FROM billing.cards WHERE company_id = $1 AND removed_at IS NULL',
    [companyId],
  );
  if (oneRow(rows).cards >= CARDS_MAX)
    throw apiError('CARD_REJECTED', {
      message: `no more than ${CARDS_MAX} cards can be kept: remove one first`,
    });
}

async function askProvider(
  deps: Pick<BillingDeps, 'provider'>,
  card: Parameters<BillingDeps['provider']['tokenizeCard']>[0],
): Promise<{ token: string; brand: string; last4: string }> {
  try {
    return await deps.provider.tokenizeCard(card);
  } catch (err) {
    if (!(err instanceof ProviderError)) throw err;
    // The cause stays out of the log: a provider's words about a card may quote it.
    if (err.fault === 'refused') throw apiError('CARD_REJECTED');
    throw apiError('SERVICE_UNAVAILABLE', {
      cause: new Error(`card not tokenized: ${err.fault}`),
      headers: { 'retry-after': '5' },
    });
  }
}

/** Refuses what no provider would accept, without sending it to one. Never says which part was wrong. */
function isPlausible(number: string, cvv: string, expMonth: number, expYear: number): boolean {
  return (
    /^\d{12,19}$/.test(number) &&
    /^\d{3,4}$/.test(cvv) &&
    expMonth >= 1 &&
    expMonth <= 12 &&
    expYear >= 2000 &&
    expYear <= 2100
  );
}

export function customerFields(profile: Profile): CustomerFields {
  return {
    documentNumber: profile.documentNumber,
    legalName: profile.legalName,
    tradeName: profile.tradeName ?? null,
    email: profile.email ?? null,
    phone: profile.phone ?? null,
    address: profile.address ?? null,
  };
}
