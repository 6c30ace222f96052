import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { AddressDto } from '@posthorn/contract/billing/profile.ts';

const schema = 'billing';

/** The catalog belongs to no company. */
export const PlanSchema = defineEntity({
  name: 'Plan',
  tableName: 'plans',
  schema,
  properties: {
    code: p.text().primary(),
    productCode: p.text(),
    displayName: p.text(),
    displaySubtitle: p.text(),
    cycle: p.enum(['monthly', 'yearly']),
    currency: p.text(),
    priceCents: p.integer(),
    trialDays: p.integer(),
    sortOrder: p.integer(),
    maxInstances: p.integer(),
    maxUsers: p.integer(),
    maxWebhooks: p.integer(),
    requestsPerMinute: p.integer(),
    storageMb: p.integer(),
    offered: p.boolean(),
  },
});
export type Plan = InferEntity<typeof PlanSchema>;

export const AddonSchema = defineEntity({
  name: 'Addon',
  tableName: 'addons',
  schema,
  properties: {
    code: p.text().primary(),
    displayName: p.text(),
    description: p.text(),
    cycle: p.enum(['monthly', 'yearly']),
    currency: p.text(),
    priceCents: p.integer(),
    unitLabel: p.text(),
    maxQuantity: p.integer(),
    sortOrder: p.integer(),
    offered: p.boolean(),
  },
});
export type Addon = InferEntity<typeof AddonSchema>;

export const ProfileSchema = defineEntity({
  name: 'BillingProfile',
  tableName: 'profiles',
  schema,
  properties: {
    id: p.integer().primary(),
    companyId: p.integer(),
    documentType: p.enum(['cpf', 'cnpj']),
    documentNumber: p.text(),
    legalName: p.text(),
    tradeName: p.text().nullable(),
    email: p.text().nullable(),
    phone: p.text().nullable(),
    address: p.json<AddressDto>().nullable(),
    asaasCustomerId: p.text(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});
export type Profile = InferEntity<typeof ProfileSchema>;

export const CardSchema = defineEntity({
  name: 'Card',
  tableName: 'cards',
  schema,
  properties: {
    id: p.integer().primary(),
    companyId: p.integer(),
    brand: p.text(),
    last4: p.text(),
    expMonth: p.integer(),
    expYear: p.integer(),
    holderName: p.text().nullable(),
    isDefault: p.boolean(),
    createdAt: p.datetime(),
    removedAt: p.datetime().nullable(),
  },
});
export type Card = InferEntity<typeof CardSchema>;

export const ChargeSchema = defineEntity({
  name: 'Charge',
  tableName: 'charges',
  schema,
  properties: {
    id: p.integer().primary(),
    companyId: p.integer(),
    asaasPaymentId: p.text(),
    billingType: p.enum(['pix', 'boleto', 'credit_card']),
    status: p.enum([
      'pending',
      'confirmed',
      'received',
      'overdue',
      'failed',
      'refunded',
      'chargeback',
      'deleted',
    ]),
    statusAt: p.datetime(),
    amountCents: p.integer(),
    netValueCents: p.integer().nullable(),
    dueDate: p.date(),
    invoiceUrl: p.text().nullable(),
    bankSlipUrl: p.text().nullable(),
    pixCopyPaste: p.text().nullable(),
    pixQrCode: p.text().nullable(),
  },
});
export type Charge = InferEntity<typeof ChargeSchema>;

/** For {@link createOrm}: those of a company, and those of none. */
export const billingEntities = {
  entities: [ProfileSchema, CardSchema, ChargeSchema],
  shared: [PlanSchema, AddonSchema],
};
