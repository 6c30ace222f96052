import { apiError } from '@posthorn/contract/api-error.ts';
import { isUnavailable } from '../../platform/database/database-errors.ts';
import type { BillingDeps } from '../deps.ts';
import { lockCompany } from '../lock-company.ts';

type CardDeps = Pick<BillingDeps, 'db' | 'clock'>;

/**
 * Makes a card the only default. 404 NOT_FOUND for a card that is not the company's, so that no default is
 * taken away for nothing; 500 DB_ERROR when it can't be stored (BIL-4).
 */
export async function makeCardDefault(
  deps: CardDeps,
  input: { companyId: number; cardId: number },
): Promise<void> {
  const found = await stored(
    deps.db.transaction(async (sql) => {
      await lockCompany(sql, input.companyId, deps.clock);
      const { rowCount } = await sql.query(
        'SELECT FROM billing.cards WHERE company_id = $1 AND id = $2 AND removed_at IS NULL',
        [input.companyId, input.cardId],
      );
      if (rowCount === 0) return false;
      // Two statements: the unique index would see two defaults within one.
      await sql.query('UPDATE billing.cards SET is_default = false WHERE company_id = $1 AND is_default', [
        input.companyId,
      ]);
      await sql.query('UPDATE billing.cards SET is_default = true WHERE id = $1', [input.cardId]);
      return true;
    }),
  );
  if (!found) throw apiError('NOT_FOUND', { message: 'card not found' });
}

/** Removes a card; the newest of the others becomes the default in its place. Idempotent. */
export async function removeCard(
  deps: CardDeps,
  input: { companyId: number; cardId: number },
): Promise<void> {
  await stored(
    deps.db.transaction(async (sql) => {
      const { now } = await lockCompany(sql, input.companyId, deps.clock);
      // Its token is deleted too. A subscription that uses the card continues: the provider has its own copy.
      const { rows } = await sql.query<{ was_default: boolean }>(
        `UPDATE billing.cards new SET removed_at = $3, is_default = false, token = ''
         FROM billing.cards old
         WHERE old.id = new.id AND new.company_id = $1 AND new.id = $2 AND new.removed_at IS NULL
         RETURNING old.is_default AS was_default`,
        [input.companyId, input.cardId, now],
      );
      if (!rows[0]?.was_default) return;
      await sql.query(
        `UPDATE billing.cards SET is_default = true
         WHERE id = (SELECT max(id) FROM billing.cards WHERE company_id = $1 AND removed_at IS NULL)`,
        [input.companyId],
      );
    }),
  );
}

/** A database that can't be reached is 503 as everywhere; one that refuses is DB_ERROR (BIL-4). */
async function stored<T>(writing: Promise<T>): Promise<T> {
  try {
    return await writing;
  } catch (cause) {
    if (isUnavailable(cause)) throw cause;
    throw apiError('DB_ERROR', { cause });
  }
}
