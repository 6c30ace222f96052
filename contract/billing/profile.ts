import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { integerId } from '../fields.ts';
import { EMAIL_MAX_CHARS, NAME_MAX_CHARS } from '../limits.ts';
import { billingRoute } from './route.ts';

const addressPart = z.string().trim().max(NAME_MAX_CHARS).nullish();

export const addressInput = z
  .object({
    zip: addressPart,
    street: addressPart,
    number: addressPart,
    complement: addressPart,
    district: addressPart,
    city: addressPart,
    state: addressPart,
    country: addressPart,
  })
  .meta({ id: 'BillingAddressRequest' });

const part = z.string().nullable();
export const address = z
  .object({
    zip: part,
    street: part,
    number: part,
    complement: part,
    district: part,
    city: part,
    state: part,
    country: part,
  })
  .meta({ id: 'BillingAddress' });
export type AddressDto = z.infer<typeof address>;

/** The payer. The document is shown as digits and never changes. */
export const billingProfile = z
  .object({
    id: integerId,
    document_type: z.enum(['cpf', 'cnpj']),
    document_number: z.string().meta({ description: 'The number of the document, digits only' }),
    legal_name: z.string(),
    trade_name: z.string().nullable(),
    email: z.string().nullable(),
    phone: z.string().nullable(),
    address: address.nullable(),
    asaas_customer_id: z.string().nullable().meta({ description: 'The id of the customer at the provider' }),
  })
  .meta({ id: 'BillingProfile' });
export type ProfileDto = z.infer<typeof billingProfile>;

const legalName = z.string().trim().min(1).max(NAME_MAX_CHARS);

const mutableFields = {
  trade_name: z.string().trim().max(NAME_MAX_CHARS).nullish(),
  email: z.string().trim().toLowerCase().max(EMAIL_MAX_CHARS).email().nullish(),
  phone: z.string().trim().max(30).nullish(),
  address: addressInput.nullish(),
};

export const createProfileBody = z
  .object({
    // Judged with the number, so that whatever is wrong with a document is INVALID_DOCUMENT.
    document_type: z
      .string()
      .default('')
      .meta({ enum: ['cpf', 'cnpj'] }),
    document_number: z
      .string()
      .max(40)
      .default('')
      .meta({ description: 'The number of the document; the service drops punctuation' }),
    legal_name: legalName,
    ...mutableFields,
  })
  .meta({ id: 'CreateBillingProfileRequest' });
export type CreateProfileBody = z.infer<typeof createProfileBody>;

export const updateProfileBody = z
  .object({ legal_name: legalName.optional(), ...mutableFields })
  .meta({ id: 'UpdateBillingProfileRequest' });
export type UpdateProfileBody = z.infer<typeof updateProfileBody>;

export const profile = {
  get: billingRoute(
    {
      auth: 'any',
      access: 'owner_admin',
      errors: ['PROFILE_NOT_FOUND'],
      summary: 'Read the billing profile',
    },
    { method: 'GET', path: '/v1/billing/profile', responses: { 200: billingProfile } },
  ),
  create: billingRoute(
    {
      auth: 'any',
      access: 'owner',
      errors: ['INVALID_DOCUMENT', 'COMPANY_NOT_FOUND', 'PROFILE_EXISTS'],
      summary: 'Create the billing profile',
      description: 'Creates the customer at the payment provider. The document cannot be changed afterwards.',
    },
    {
      method: 'POST',
      path: '/v1/billing/profile',
      body: createProfileBody,
      responses: { 201: billingProfile },
    },
  ),
  update: billingRoute(
    {
      auth: 'any',
      access: 'owner',
      errors: ['PROFILE_NOT_FOUND'],
      summary: 'Change the billing profile',
      description: 'Changes the e-mail address, phone, names and address, also at the payment provider.',
    },
    {
      method: 'PATCH',
      path: '/v1/billing/profile',
      body: updateProfileBody,
      responses: { 200: billingProfile },
    },
  ),
} satisfies AppRouter;
