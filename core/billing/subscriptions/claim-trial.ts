import { apiError } from '@posthorn/contract/api-error.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import type { BillingDeps } from '../deps.ts';

/**
 * Claims the one trial of a company and its document, for the subscription that will carry `reference`; false when
 * it was used before. Runs in the transaction that writes the intent: of two companies with one document, the
 * second waits here for the first.
 *
 * A claim is permanent once it was used; before that it holds while its request is in progress, so that a failed
 * request leaves the trial to the next. Only a keyed digest of the document is kept, since it outlives the
 * company's data. Throws 503 SERVICE_UNAVAILABLE while another company's request is in progress.
 */
export async function claimTrial(
  deps: Pick<BillingDeps, 'cipher' | 'clock'>,
  sql: Sql,
  input: { documentNumber: string; reference: string },
): Promise<boolean> {
  const [digest, ...earlierDigests] = deps.cipher.digests('trial', input.documentNumber);
  const now = deps.clock.now();
  // Subscriptions from before claims were recorded, and trials that another ENCRYPTION_KEY has digested.
  const { rows: earlier } = await sql.query(
    `SELECT FROM billing.profiles profile JOIN billing.subscriptions USING (company_id)
     WHERE profile.document_number = $1
     UNION ALL SELECT FROM billing.trials WHERE document_digest = ANY ($2::bytea[]) AND used_at IS NOT NULL
     LIMIT 1`,
    [input.documentNumber, earlierDigests],
  );
  if (earlier.length > 0) return false;
  const claimed = await sql.query(
    `INSERT INTO billing.trials (document_digest, reference, claimed_at) VALUES ($1, $2, $3)
     ON CONFLICT (document_digest) DO NOTHING`,
    [digest, input.reference, now],
  );
  if (claimed.rowCount === 1) return true;
  // A separate statement: it sees what the other transaction, waited for above, has committed.
  const { rows } = await sql.query<{ used: boolean; under_way: boolean }>(
    `SELECT used_at IS NOT NULL AS used,
            EXISTS (SELECT FROM billing.provider_intents intent
                    WHERE intent.reference = trial.reference AND state = 'started' AND expires_at > $2) AS under_way
     FROM billing.trials trial WHERE document_digest = $1 FOR UPDATE`,
    [digest, now],
  );
  const known = oneRow(rows);
  if (known.used) return false;
  if (known.under_way)
    throw apiError('SERVICE_UNAVAILABLE', {
      message: 'another subscription with this document is being created',
      headers: { 'retry-after': '5' },
    });
  await sql.query('UPDATE billing.trials SET reference = $2, claimed_at = $3 WHERE document_digest = $1', [
    digest,
    input.reference,
    now,
  ]);
  return true;
}

/** Marks the trial as used once its subscription is created; false when another has used it meanwhile. */
export async function useTrial(sql: Sql, reference: string, now: Date): Promise<boolean> {
  const { rowCount } = await sql.query('UPDATE billing.trials SET used_at = $2 WHERE reference = $1', [
    reference,
    now,
  ]);
  return rowCount === 1;
}
