import { type ChargeDto, chargeStatus } from '@posthorn/contract/billing/charges.ts';
import { CHARGES_LIMIT } from '@posthorn/contract/limits.ts';
import type { BillingDeps } from '../deps.ts';
import { ChargeSchema } from '../entities.ts';
import { chargeView } from '../views.ts';

/**
 * Charges by due date, newest first. A limit that is no number of 1 to 200 counts as 50 (BIL-14); a status
 * that does not exist has no charges.
 */
export async function listCharges(
  deps: Pick<BillingDeps, 'orm'>,
  input: { companyId: number; status?: string | undefined; limit?: string | undefined },
): Promise<ChargeDto[]> {
  const status = input.status === undefined ? undefined : chargeStatus.safeParse(input.status);
  if (status && !status.success) return [];
  const charges = await deps.orm
    .forCompany(input.companyId)
    .find(ChargeSchema, status ? { status: status.data } : {}, {
      orderBy: { dueDate: 'desc', id: 'desc' },
      limit: limitOf(input.limit),
    });
  return charges.map(chargeView);
}

function limitOf(text: string | undefined): number {
  const limit = text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= CHARGES_LIMIT.max ? limit : CHARGES_LIMIT.default;
}
