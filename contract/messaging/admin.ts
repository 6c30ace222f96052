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
        listed: z
          .boolean()
          .nullable()
          .meta({ description: 'Whether the list names the address; null when the list gave no answer' }),
        code: z.string().nullable().meta({ description: 'The answer of the list, e.g. 127.0.0.2' }),
        reason: z
          .string()
          .nullable()
          .meta({ description: 'The explanation by the list, or why it gave no answer' }),
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
        search: z
          .string()
          .trim()
          .max(255)
          .optional()
          .meta({ description: 'Only companies with this text in the name or slug' }),
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
      description: 'The API refuses its JWTs and keys at once. Idempotent.',
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
      description: 'Newest first. Pass next_cursor as before for the next page.',
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
          .meta({ description: 'Only instances whose name or phone number begins with this' }),
        before: uuid.optional().meta({ description: 'The next_cursor of the previous page' }),
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
      summary: 'Check the addresses of this installation on block lists',
      description: 'Answers within 5 seconds. At most 5 checks a minute.',
    },
    {
      method: 'GET',
      path: '/v1/admin/ip-reputation',
      query: z.object({
        ip: z.union([z.ipv4(), z.ipv6()], { error: 'must be an IP address' }).optional().meta({
          description: 'The address to check; default: the addresses of this installation (EGRESS_IPS)',
        }),
      }),
      responses: { 200: z.object({ results: z.array(ipReputation) }).meta({ id: 'IpReputationList' }) },
    },
  ),
} satisfies AppRouter;
