import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { idQuery, integerId, integerQuery, pageOf, pageQuery, timestamp, uuid } from '../fields.ts';
import { LIST_LIMIT } from '../limits.ts';
import { c, route } from '../route-meta.ts';
import { instance, instanceState } from './instances.ts';

export const companyStatus = z.enum(['active', 'suspended', 'deleted']);

export const company = z
  .object({
    id: integerId,
    name: z.string(),
    slug: z.string(),
    status: companyStatus,
    users: z.int(),
    instances: z.int(),
    created_at: timestamp,
    deleted_at: timestamp.nullable(),
  })
  .meta({ id: 'Company' });
export type CompanyDto = z.infer<typeof company>;

export const adminInstance = instance.extend({ company_name: z.string() }).meta({ id: 'AdminInstance' });
export type AdminInstance = z.infer<typeof adminInstance>;

export const ipReputation = z
  .object({
    ip: z.string(),
    zones: z.array(
      z.object({
        zone: z.string(),
        listed: z.boolean().nullable().meta({ description: 'Null when the list gave no answer' }),
        code: z.string().nullable().meta({ description: 'What the list answered, e.g. 127.0.0.2' }),
        reason: z
          .string()
          .nullable()
          .meta({ description: 'What the list says of the listing, or why it gave no answer' }),
      }),
    ),
  })
  .meta({ id: 'IpReputation' });
export type IpReputation = z.infer<typeof ipReputation>;

export const admin = {
  listCompanies: route(
    { auth: 'jwt', access: 'superadmin', summary: 'List companies' },
    {
      method: 'GET',
      path: '/v1/admin/companies',
      query: z.object({
        status: companyStatus.optional(),
        search: z.string().trim().max(255).optional().meta({ description: 'Part of the name or slug' }),
        ...pageQuery(LIST_LIMIT),
      }),
      responses: { 200: pageOf(company).meta({ id: 'CompanyList' }) },
    },
  ),
  suspendCompany: route(
    {
      auth: 'jwt',
      access: 'superadmin',
      notFound: 'COMPANY_NOT_FOUND',
      errors: ['CONFLICT', 'ACCOUNT_ALREADY_DELETED'],
      summary: 'Suspend a company',
      description: 'Its JWTs and keys are refused at once. Idempotent.',
    },
    {
      method: 'POST',
      path: '/v1/admin/companies/:companyId/suspend',
      body: c.noBody(),
      responses: { 200: company },
    },
  ),
  reactivateCompany: route(
    {
      auth: 'jwt',
      access: 'superadmin',
      notFound: 'COMPANY_NOT_FOUND',
      errors: ['ACCOUNT_ALREADY_DELETED'],
      summary: 'Reactivate a suspended company',
      description: 'Idempotent.',
    },
    {
      method: 'POST',
      path: '/v1/admin/companies/:companyId/reactivate',
      body: c.noBody(),
      responses: { 200: company },
    },
  ),
  listInstances: route(
    {
      auth: 'jwt',
      access: 'superadmin',
      summary: 'List the instances of all companies',
      description: 'Newest first. The next page begins before next_cursor.',
    },
    {
      method: 'GET',
      path: '/v1/admin/instances',
      query: z.object({
        company_id: idQuery.optional(),
        state: instanceState.optional(),
        driver: z.string().min(1).max(40).optional(),
        search: z
          .string()
          .trim()
          .max(255)
          .optional()
          .meta({ description: 'How the name or the phone begins' }),
        before: uuid.optional().meta({ description: 'The next_cursor of the page before' }),
        limit: integerQuery(LIST_LIMIT),
      }),
      responses: {
        200: z
          .object({ data: z.array(adminInstance), next_cursor: uuid.nullable() })
          .meta({ id: 'AdminInstanceList' }),
      },
    },
  ),
  ipReputation: route(
    {
      auth: 'jwt',
      access: 'superadmin',
      errors: ['REPUTATION_NOT_AVAILABLE', 'REPUTATION_RATE_LIMITED'],
      summary: 'Ask lists of bad addresses about ours',
      description: 'Takes 5 seconds at most; 5 checks a minute.',
    },
    {
      method: 'GET',
      path: '/v1/admin/ip-reputation',
      query: z.object({
        ip: z
          .union([z.ipv4(), z.ipv6()], { error: 'must be an IP address' })
          .optional()
          .meta({ description: 'Default: the addresses of this installation (EGRESS_IPS)' }),
      }),
      responses: { 200: z.object({ results: z.array(ipReputation) }).meta({ id: 'IpReputationList' }) },
    },
  ),
} satisfies AppRouter;
