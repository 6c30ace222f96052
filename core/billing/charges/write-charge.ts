import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import type { ProviderPayment } from '../provider/port.ts';
import { queueTask } from '../provider/provider-tasks.ts';

/**
 * Stores a charge as the provider describes it: a new one is pending; of a known one only the details change, and
 * only by a later description. Its status follows from events. Returns its id.
 */
export async function writeCharge(
  sql: Sql,
  input: {
    companyId: number;
    subscriptionId: number;
    payment: ProviderPayment;
    /** When the description was true, according to the provider. */
    at: Date;
    now: Date;
    realNow: Date;
  },
): Promise<number> {
  const { payment } = input;
  const { rows } = await sql.query<{ id: number; needs_code: boolean }>(
    `WITH repriced AS (
       SELECT id FROM billing.charges WHERE asaas_payment_id = $3 AND details_at <= $5 AND amount_cents <> $6)
     INSERT INTO billing.charges AS charge (company_id, subscription_id, asaas_payment_id, billing_type, status, status_at,
       amount_cents, net_value_cents, due_date, invoice_url, bank_slip_url, details_at, created_at, updated_at)
     VALUES ($1, $2, $3, $4, 'pending', $5, $6, $7, $8, $9, $10, $5, $11, $11)
     ON CONFLICT (asaas_payment_id) DO UPDATE SET
       amount_cents = CASE WHEN charge.details_at <= $5 THEN $6 ELSE charge.amount_cents END,
       net_value_cents = CASE WHEN charge.details_at <= $5 THEN $7 ELSE charge.net_value_cents END,
       due_date = CASE WHEN charge.details_at <= $5 THEN $8 ELSE charge.due_date END,
       invoice_url = CASE WHEN charge.details_at <= $5 THEN $9 ELSE charge.invoice_url END,
       bank_slip_url = CASE WHEN charge.details_at <= $5 THEN $10 ELSE charge.bank_slip_url END,
       pix_copy_paste = CASE WHEN EXISTS (SELECT FROM repriced) THEN NULL ELSE charge.pix_copy_paste END,
       pix_qr_code = CASE WHEN EXISTS (SELECT FROM repriced) THEN NULL ELSE charge.pix_qr_code END,
       details_at = greatest(charge.details_at, $5),
       updated_at = $11
     RETURNING id, xmax = 0 OR EXISTS (SELECT FROM repriced) AS needs_code`,
    [
      input.companyId,
      input.subscriptionId,
      payment.id,
      payment.billingType,
      input.at,
      payment.valueCents,
      payment.netValueCents,
      payment.dueDate,
      payment.invoiceUrl,
      payment.bankSlipUrl,
      input.now,
    ],
  );
  const { id, needs_code } = oneRow(rows);
  // The description lacks the code of a PIX charge, which is requested separately. It names the amount.
  if (needs_code && payment.billingType === 'pix')
    await queueTask(sql, { kind: 'load_pix', companyId: input.companyId, subjectId: id, at: input.realNow });
  return id;
}
