import { apiError } from '@posthorn/contract/api-error.ts';
import type { ProfileDto, UpdateProfileBody } from '@posthorn/contract/billing/profile.ts';
import type { BillingDeps } from '../deps.ts';
import { lockCompany } from '../lock-company.ts';
import { queueTask } from '../provider/provider-tasks.ts';
import { addressOf } from './create-profile.ts';

/**
 * Changes what was given; null or an empty text empties a field, an address is replaced as a whole. The
 * document stays (BIL-3). The provider's customer follows, as soon as the provider can be reached.
 * Throws 404 PROFILE_NOT_FOUND.
 */
export async function changeProfile(
  deps: Pick<BillingDeps, 'db' | 'clock'>,
  input: { companyId: number; change: UpdateProfileBody },
): Promise<ProfileDto> {
  const { change, companyId } = input;
  return deps.db.transaction(async (sql) => {
    const { now } = await lockCompany(sql, companyId, deps.clock);
    const { rows } = await sql.query<ProfileDto>(
      `UPDATE billing.profiles SET
         legal_name = coalesce($2, legal_name),
         trade_name = CASE WHEN $3 THEN $4 ELSE trade_name END,
         email = CASE WHEN $5 THEN $6 ELSE email END,
         phone = CASE WHEN $7 THEN $8 ELSE phone END,
         address = CASE WHEN $9 THEN $10 ELSE address END,
         updated_at = $11
       WHERE company_id = $1
       RETURNING id, document_type, document_number, legal_name, trade_name, email, phone, address, asaas_customer_id`,
      [
        companyId,
        change.legal_name ?? null,
        change.trade_name !== undefined,
        change.trade_name || null,
        change.email !== undefined,
        change.email || null,
        change.phone !== undefined,
        change.phone || null,
        change.address !== undefined,
        addressOf(change.address),
        now,
      ],
    );
    const profile = rows[0];
    if (!profile) throw apiError('PROFILE_NOT_FOUND');
    await queueTask(sql, {
      kind: 'sync_customer',
      companyId,
      subjectId: profile.id,
      at: deps.clock.now(),
    });
    return profile;
  });
}
