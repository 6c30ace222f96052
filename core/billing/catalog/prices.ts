import type { BillingCycle } from '@posthorn/contract/billing/catalog.ts';

/** The price of one unit of an add-on on an invoice of a plan: a year has twelve monthly ones. */
export function addonPriceCents(
  addon: { priceCents: number; cycle: BillingCycle },
  planCycle: BillingCycle,
): number {
  if (addon.cycle === planCycle) return addon.priceCents;
  return planCycle === 'yearly' ? addon.priceCents * 12 : Math.round(addon.priceCents / 12);
}
