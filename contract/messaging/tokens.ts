import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { integerId, nameField, pageOf, pageQuery, timestamp } from '../fields.ts';
import { LIST_LIMIT } from '../limits.ts';
import { c, route } from '../route-meta.ts';

export const token = z
  .object({
    id: integerId,
    name: z.string(),
    last4: z.string().length(4).meta({ description: 'The last four characters of the key' }),
    user_id: integerId.meta({ description: 'The id of the user whose role the key has' }),
    created_at: timestamp,
    last_used_at: timestamp.nullable(),
  })
  .meta({ id: 'Token' });
export type Token = z.infer<typeof token>;

/** The key itself is shown this once; only its hash is stored. */
export const createdToken = token
  .extend({ token: z.string().meta({ description: 'The API key: svc_ and 64 hex characters' }) })
  .meta({ id: 'CreatedToken' });
/** @public The SDK publishes it. */
export type CreatedToken = z.infer<typeof createdToken>;

export const createTokenBody = z
  .object({ name: nameField.default('API key') })
  .meta({ id: 'CreateTokenRequest' });

export const tokens = {
  list: route(
    {
      auth: 'any',
      access: 'owner',
      summary: 'List API keys',
      description: 'Newest first. Does not return the keys themselves.',
    },
    {
      method: 'GET',
      path: '/v1/tokens',
      query: z.object(pageQuery(LIST_LIMIT)),
      responses: { 200: pageOf(token).meta({ id: 'TokenList' }) },
    },
  ),
  create: route(
    {
      auth: 'any',
      access: 'owner',
      requiresVerifiedEmail: true,
      summary: 'Create an API key',
      description: 'The key acts as the user who created it. It is shown only this once.',
    },
    { method: 'POST', path: '/v1/tokens', body: createTokenBody, responses: { 201: createdToken } },
  ),
  revoke: route(
    { auth: 'any', access: 'owner', notFound: 'NOT_FOUND', summary: 'Revoke an API key' },
    { method: 'DELETE', path: '/v1/tokens/:id', responses: { 204: c.noBody() } },
  ),
} satisfies AppRouter;
