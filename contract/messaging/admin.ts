import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { integerId, pageOf, pageQuery, timestamp } from '../fields.ts';
import { LIST_LIMIT } from '../limits.ts';
import { c, route } from '../route-meta.ts';

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
} satisfies AppRouter;
