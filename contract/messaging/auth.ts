import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { emailField, integerId, nameField, role } from '../fields.ts';
import { EMAIL_MAX_CHARS, NAME_MAX_CHARS, PASSWORD_MAX_CHARS, PASSWORD_MIN_CHARS } from '../limits.ts';
import { route } from '../route-meta.ts';

/** Letters and digits of any script, spaces and the punctuation of firms; begins with a letter or digit. */
const COMPANY_NAME = /^[\p{L}\p{N}][\p{L}\p{M}\p{N} .,&'’()/_+-]*$/u;

export const companyName = z
  .string()
  .trim()
  .min(1)
  .max(NAME_MAX_CHARS)
  .refine((name) => name === '' || COMPANY_NAME.test(name), 'has characters that are not allowed');

/** Two floors in one: empty is a missing field, short is a bad one. */
export const newPassword = z
  .string()
  .min(1)
  .refine(
    (password) => password === '' || password.length >= PASSWORD_MIN_CHARS,
    `must have at least ${PASSWORD_MIN_CHARS} characters`,
  )
  .max(PASSWORD_MAX_CHARS)
  .meta({ description: `${PASSWORD_MIN_CHARS} to ${PASSWORD_MAX_CHARS} characters` });

export const registerBody = z
  .object({
    company_name: companyName,
    owner_email: emailField,
    owner_name: nameField,
    password: newPassword,
  })
  .meta({ id: 'RegisterRequest' });
export type RegisterBody = z.infer<typeof registerBody>;

/** Spec 2.3. `token` and `api_token` are the same API key, shown this once. */
export const registered = z
  .object({
    company_id: integerId,
    token: z.string(),
    api_token: z.string(),
    token_id: integerId,
    last4: z.string().length(4),
    slug: z.string(),
    email_verification_required: z.boolean(),
    message: z.string(),
  })
  .meta({ id: 'Registered' });
export type Registered = z.infer<typeof registered>;

/** The form of the e-mail is not judged: what nobody registered is simply not a match. */
export const loginBody = z
  .object({
    email: z.string().trim().toLowerCase().min(1).max(EMAIL_MAX_CHARS),
    password: z.string().min(1).max(PASSWORD_MAX_CHARS),
  })
  .meta({ id: 'LoginRequest' });
export type LoginBody = z.infer<typeof loginBody>;

/** Spec 2.2. */
export const session = z
  .object({
    token: z.string().meta({ description: 'JWT, HS256, 15 minutes' }),
    company_id: integerId,
    user_id: integerId,
    role,
    email: z.string(),
    name: z.string(),
    is_superadmin: z.boolean(),
    email_verified: z.boolean(),
  })
  .meta({ id: 'Session' });
export type Session = z.infer<typeof session>;

export const auth = {
  register: route(
    {
      auth: 'none',
      access: 'public',
      errors: ['CONFLICT', 'EMAIL_ALREADY_REGISTERED', 'REGISTRATION_FAILED', 'RATE_LIMITED'],
      summary: 'Register a company with its owner',
      description: 'Answers the first API key, which is shown this once.',
    },
    { method: 'POST', path: '/v1/auth/register', body: registerBody, responses: { 201: registered } },
  ),
  login: route(
    {
      auth: 'none',
      access: 'public',
      errors: [
        'INVALID_CREDENTIALS',
        'ACCOUNT_DELETED',
        'COMPANY_SUSPENDED',
        'ACCOUNT_LOCKED',
        'RATE_LIMITED',
      ],
      summary: 'Log in',
      description: 'Answers a JWT and sets the cookies svc_refresh_token and svc_csrf_token.',
    },
    { method: 'POST', path: '/v1/auth/login', body: loginBody, responses: { 200: session } },
  ),
} satisfies AppRouter;
