import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { emailField, integerId, nameField, pageOf, pageQuery, role, timestamp } from '../fields.ts';
import { LIST_LIMIT } from '../limits.ts';
import { c, route } from '../route-meta.ts';
import { newPassword } from './auth.ts';

export const user = z
  .object({
    id: integerId,
    email: z.string(),
    name: z.string(),
    role,
    status: z
      .enum(['active', 'invited'])
      .meta({ description: 'invited: the user has not chosen a password yet' }),
    email_verified: z.boolean(),
    created_at: timestamp,
  })
  .meta({ id: 'User' });
export type UserDto = z.infer<typeof user>;

/** Superadmins come from SUPERADMIN_EMAILS alone. */
const givenRole = z.enum(['owner', 'admin', 'agent']);

export const createUserBody = z
  .object({
    email: emailField,
    name: nameField,
    role: givenRole,
    password: newPassword
      .optional()
      .meta({ description: 'The password; without one the service mails an invite link to the user' }),
  })
  .meta({ id: 'CreateUserRequest' });
export type CreateUserBody = z.infer<typeof createUserBody>;

export const updateUserBody = z
  .object({ name: nameField.optional(), role: givenRole.optional() })
  .meta({ id: 'UpdateUserRequest' });
export type UpdateUserBody = z.infer<typeof updateUserBody>;

export const users = {
  list: route(
    { auth: 'any', access: 'owner', summary: 'List the users of the company' },
    {
      method: 'GET',
      path: '/v1/users',
      query: z.object(pageQuery(LIST_LIMIT)),
      responses: { 200: pageOf(user).meta({ id: 'UserList' }) },
    },
  ),
  create: route(
    {
      auth: 'any',
      access: 'owner',
      requiresVerifiedEmail: true,
      errors: ['EMAIL_ALREADY_REGISTERED', 'PLAN_LIMIT_REACHED'],
      summary: 'Add or invite a user',
    },
    { method: 'POST', path: '/v1/users', body: createUserBody, responses: { 201: user } },
  ),
  update: route(
    {
      auth: 'any',
      access: 'owner',
      notFound: 'NOT_FOUND',
      errors: ['CONFLICT'],
      summary: "Change a user's name or role",
      description: '409 when the company would have no owner left.',
    },
    { method: 'PATCH', path: '/v1/users/:id', body: updateUserBody, responses: { 200: user } },
  ),
  remove: route(
    {
      auth: 'any',
      access: 'owner',
      notFound: 'NOT_FOUND',
      errors: ['CONFLICT'],
      summary: 'Remove a user',
      description: 'Ends the sessions and keys of the user at once. 409 when you try to remove yourself.',
    },
    { method: 'DELETE', path: '/v1/users/:id', responses: { 204: c.noBody() } },
  ),
} satisfies AppRouter;
