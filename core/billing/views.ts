import type { CardDto } from '@posthorn/contract/billing/cards.ts';
import type { AddonDto, PlanDto } from '@posthorn/contract/billing/catalog.ts';
import type { ChargeDto } from '@posthorn/contract/billing/charges.ts';
import type { ProfileDto } from '@posthorn/contract/billing/profile.ts';
import type { Addon, Card, Charge, Plan, Profile } from './entities.ts';

/** The entities as users see them (BIL-1, BIL-3, BIL-4, BIL-9, BIL-14). */

export function planView(plan: Plan): PlanDto {
  return {
    code: plan.code,
    product_code: plan.productCode,
    display_name: plan.displayName,
    display_subtitle: plan.displaySubtitle,
    cycle: plan.cycle,
    currency: plan.currency,
    price_cents: plan.priceCents,
    trial_days: plan.trialDays,
    sort_order: plan.sortOrder,
  };
}

export function addonView(addon: Addon): AddonDto {
  return {
    code: addon.code,
    display_name: addon.displayName,
    description: addon.description,
    cycle: addon.cycle,
    currency: addon.currency,
    price_cents: addon.priceCents,
    unit_label: addon.unitLabel,
    max_quantity: addon.maxQuantity,
  };
}

export function profileView(profile: Profile): ProfileDto {
  return {
    id: profile.id,
    document_type: profile.documentType,
    document_number: profile.documentNumber,
    legal_name: profile.legalName,
    trade_name: profile.tradeName ?? null,
    email: profile.email ?? null,
    phone: profile.phone ?? null,
    address: profile.address ?? null,
    asaas_customer_id: profile.asaasCustomerId,
  };
}

export function cardView(card: Card): CardDto {
  return {
    id: card.id,
    brand: card.brand,
    last4: card.last4,
    exp_month: card.expMonth,
    exp_year: card.expYear,
    holder_name: card.holderName ?? null,
    is_default: card.isDefault,
  };
}

export function chargeView(charge: Charge): ChargeDto {
  const { status, billingType } = charge;
  const payableByPix = billingType === 'pix' && status === 'pending';
  const netValue = charge.netValueCents ?? null;
  return {
    id: charge.id,
    asaas_payment_id: charge.asaasPaymentId,
    billing_type: billingType,
    status,
    amount_cents: charge.amountCents,
    net_value_cents: netValue,
    fee_cents: netValue === null ? null : charge.amountCents - netValue,
    due_date: charge.dueDate,
    paid_at: status === 'received' ? charge.statusAt.toISOString() : null,
    invoice_url: charge.invoiceUrl ?? null,
    bank_slip_url: billingType === 'boleto' ? (charge.bankSlipUrl ?? null) : null,
    pix_copy_paste: payableByPix ? (charge.pixCopyPaste ?? null) : null,
    pix_qr_code: payableByPix ? (charge.pixQrCode ?? null) : null,
  };
}
