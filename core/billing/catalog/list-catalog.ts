import type { AddonDto, BillingCycle, PlanDto } from '@posthorn/contract/billing/catalog.ts';
import type { BillingDeps } from '../deps.ts';
import { AddonSchema, PlanSchema } from '../entities.ts';
import { addonView, planView } from '../views.ts';

/** The plans on offer, by sort_order; of one cycle when asked (BIL-1). */
export async function listPlans(
  deps: Pick<BillingDeps, 'orm'>,
  input: { cycle?: BillingCycle | undefined },
): Promise<PlanDto[]> {
  const where = { offered: true, ...(input.cycle ? { cycle: input.cycle } : {}) };
  const plans = await deps.orm.fork().find(PlanSchema, where, { orderBy: { sortOrder: 'asc', code: 'asc' } });
  return plans.map(planView);
}

export async function listAddons(deps: Pick<BillingDeps, 'orm'>): Promise<AddonDto[]> {
  const orderBy = { sortOrder: 'asc', code: 'asc' } as const;
  const addons = await deps.orm.fork().find(AddonSchema, { offered: true }, { orderBy });
  return addons.map(addonView);
}
