import { apiError } from '@posthorn/contract/api-error.ts';
import type { AddressDto, CreateProfileBody, ProfileDto } from '@posthorn/contract/billing/profile.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import type { BillingDeps } from '../deps.ts';
import { lockCompany } from '../lock-company.ts';
import type { CustomerFields } from '../provider/port.ts';
import {
  commitIntent,
  completeIntent,
  createAtProvider,
  openIntents,
  recordIntent,
  undoIntent,
} from '../provider/provider-intents.ts';
import { parseTaxDocument } from './tax-document.ts';

type CreateDeps = Pick<BillingDeps, 'db' | 'clock' | 'provider' | 'log'>;

/**
 * Creates the profile and the provider's customer, both or neither. Throws 400 INVALID_DOCUMENT, 404
 * COMPANY_NOT_FOUND, 409 PROFILE_EXISTS, 500 INTERNAL when the provider does not make the customer.
 */
export async function createProfile(
  deps: CreateDeps,
  input: { companyId: number; profile: CreateProfileBody },
): Promise<ProfileDto> {
  const { companyId, profile } = input;
  const document = parseTaxDocument(profile.document_type, profile.document_number);
  if (!document) throw apiError('INVALID_DOCUMENT');
  const fields: CustomerFields = {
    documentNumber: document.number,
    legalName: profile.legal_name,
    tradeName: profile.trade_name || null,
    email: profile.email || null,
    phone: profile.phone || null,
    address: addressOf(profile.address),
  };
  const reference = await begin(deps, companyId);
  const customer = await createAtProvider(deps, {
    kind: 'customer',
    reference,
    create: () => deps.provider.createCustomer({ ...fields, reference }),
  }).catch((cause) => {
    throw apiError('INTERNAL', { cause });
  });
  return commitIntent(deps, reference, async (sql) => {
    const { now } = await lockCompany(sql, companyId, deps.clock);
    if (!(await completeIntent(sql, reference)))
      throw apiError('INTERNAL', { cause: new Error('the request took too long and was undone') });
    const { rows } = await sql.query<{ id: number }>(
      `INSERT INTO billing.profiles (company_id, document_type, document_number, legal_name, trade_name, email, phone,
         address, asaas_customer_id, created_at, updated_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10) RETURNING id`,
      [
        companyId,
        document.type,
        document.number,
        fields.legalName,
        fields.tradeName,
        fields.email,
        fields.phone,
        fields.address,
        customer.id,
        now,
      ],
    );
    return {
      id: oneRow(rows).id,
      document_type: document.type,
      document_number: document.number,
      legal_name: fields.legalName,
      trade_name: fields.tradeName,
      email: fields.email,
      phone: fields.phone,
      address: fields.address,
      asaas_customer_id: customer.id,
    };
  });
}

/** Writes the intent; what earlier requests left unfinished is undone first, as the worker would. */
async function begin(deps: CreateDeps, companyId: number): Promise<string> {
  const open = await openIntents(deps.db, { companyId, kind: 'customer', now: deps.clock.now() });
  for (const { reference, underWay } of open) if (!underWay) await undoIntent(deps, reference);
  return deps.db.transaction(async (sql) => {
    await lockCompany(sql, companyId, deps.clock);
    if (!(await companyIsThere(sql, companyId))) throw apiError('COMPANY_NOT_FOUND');
    const { rowCount } = await sql.query('SELECT FROM billing.profiles WHERE company_id = $1', [companyId]);
    const open = await openIntents(sql, { companyId, kind: 'customer', now: deps.clock.now() });
    if (rowCount !== 0 || open.some(({ underWay }) => underWay)) throw apiError('PROFILE_EXISTS');
    return recordIntent(sql, { companyId, kind: 'customer', now: deps.clock.now() });
  });
}

/** Read only, and by the grant that the authenticator needs anyway (see migrations/billing-role.ts). */
async function companyIsThere(sql: Sql, companyId: number): Promise<boolean> {
  const { rowCount } = await sql.query(`SELECT FROM public.companies WHERE id = $1 AND status <> 'deleted'`, [
    companyId,
  ]);
  return rowCount === 1;
}

type AddressInput = { [Key in keyof AddressDto]?: string | null | undefined };

/** Every part named, so that an address reads the same however it was written; null for an empty one. */
export function addressOf(input: AddressInput | null | undefined): AddressDto | null {
  if (!input) return null;
  const address: AddressDto = {
    zip: input.zip || null,
    street: input.street || null,
    number: input.number || null,
    complement: input.complement || null,
    district: input.district || null,
    city: input.city || null,
    state: input.state || null,
    country: input.country || null,
  };
  return Object.values(address).every((part) => part === null) ? null : address;
}
