// long: the bodies, answers and routes of one resource, which are read together
import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import {
  charsOf,
  emailField,
  failsWith,
  integerId,
  maxChars,
  nameField,
  role,
  timestamp,
} from '../fields.ts';
import {
  EMAIL_MAX_CHARS,
  NAME_MAX_CHARS,
  PASSWORD_CHANGE_MIN_CHARS,
  PASSWORD_MAX_CHARS,
  PASSWORD_MIN_CHARS,
} from '../limits.ts';
import { c, route } from '../route-meta.ts';

/** Letters and digits of any script, spaces and the punctuation of firms; begins with a letter or digit. */
const COMPANY_NAME = /^[\p{L}\p{N}][\p{L}\p{M}\p{N} .,&'’()/_+-]*$/u;

export const companyName = nameField.refine(
  (name) => name === '' || COMPANY_NAME.test(name),
  'has characters that are not allowed',
);

/** Empty is a missing field, short is an invalid one. */
const hasChars = (text: string, min: number) => text === '' || charsOf(text) >= min;

export const newPassword = z
  .string()
  .min(1)
  .refine(
    (password) => hasChars(password, PASSWORD_MIN_CHARS),
    `must have at least ${PASSWORD_MIN_CHARS} characters`,
  )
  .check(maxChars(PASSWORD_MAX_CHARS))
  .meta({ description: `The password, ${PASSWORD_MIN_CHARS} to ${PASSWORD_MAX_CHARS} characters` });

export const registerBody = z
  .object({
    company_name: companyName,
    owner_email: emailField,
    owner_name: nameField,
    password: newPassword,
  })
  .meta({ id: 'RegisterRequest' });
export type RegisterBody = z.infer<typeof registerBody>;

/** `token` and `api_token` are the same API key, shown this once. */
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

export const quickRegisterBody = z.object({ email: emailField }).meta({ id: 'QuickRegisterRequest' });

/** The first API key and the generated password, both shown this once. */
export const quickRegistered = z
  .object({
    company_id: integerId,
    api_key: z.string(),
    email: z.string(),
    password: z
      .string()
      .meta({ description: 'The generated password, 16 hex characters, which is also sent by e-mail' }),
    base_url: z.string(),
    message: z.string(),
  })
  .meta({ id: 'QuickRegistered' });
export type QuickRegistered = z.infer<typeof quickRegistered>;

/** Cut where it is longer than any that exists, at two units a character: it then matches none, and what it costs is bounded. */
const cutAt = (max: number) => (text: string) => text.slice(0, 2 * max + 1);

/** Its form is not judged: what nobody registered is simply not a match. */
const anyEmail = z.string().trim().toLowerCase().min(1).transform(cutAt(EMAIL_MAX_CHARS));

const currentPassword = z.string().min(1).transform(cutAt(PASSWORD_MAX_CHARS));

export const loginBody = z
  .object({ email: anyEmail, password: currentPassword })
  .meta({ id: 'LoginRequest' });

/** The answer to every way of logging in, beside the session cookies. */
export const session = z
  .object({
    token: z
      .string()
      .meta({ description: 'The JWT of the session, signed with HS256 and valid for 15 minutes' }),
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

export const acknowledged = z.object({ message: z.string() }).meta({ id: 'Acknowledged' });

/** The session that asked has to log in again to go on. */
export const reloginRequired = z
  .object({ message: z.string(), requires_relogin: z.literal(true) })
  .meta({ id: 'ReloginRequired' });

export const forgotPasswordBody = z.object({ email: anyEmail }).meta({ id: 'ForgotPasswordRequest' });

export const resetPasswordBody = z
  .object({ token: z.string().min(1).transform(cutAt(256)), password: newPassword })
  .meta({ id: 'ResetPasswordRequest' });

/** Anything but six digits counts as a wrong code, an empty text too: so it is the use case that refuses it. */
const typedCode = z
  .string()
  .max(256)
  .meta({ description: 'The code, six digits', examples: ['042137'] });

/** The body that is judged, and counted, when no code came. */
const NO_CODE = { code: '' };

export const verifyEmailBody = z.object({ code: typedCode }).meta({ id: 'VerifyEmailRequest' });

export const codeSent = z
  .object({
    message: z.string(),
    cooldown_secs: z.int().meta({ description: 'The seconds before another code may be requested' }),
    expires_in: z.int().meta({ description: 'The lifetime of the code in seconds' }),
  })
  .meta({ id: 'CodeSent' });

/** Given but empty is wrong, not missing: both fields are optional. */
const notEmpty = (text: string) => text !== '';
const optionalName = z.string().trim().check(maxChars(NAME_MAX_CHARS)).refine(notEmpty, 'must not be empty');

export const updateMeBody = z
  .object({
    name: optionalName.optional(),
    company_name: optionalName
      .refine((name) => name === '' || COMPANY_NAME.test(name), 'has characters that are not allowed')
      .optional(),
  })
  .meta({ id: 'UpdateMeRequest' });

export const me = z
  .object({
    user: z.object({ id: integerId, email: z.string(), name: z.string(), role }),
    company: z.object({ id: integerId, name: z.string(), slug: z.string() }),
  })
  .meta({ id: 'Me' });
export type Me = z.infer<typeof me>;

export const changePasswordBody = z
  .object({
    current_password: currentPassword,
    new_password: z
      .string()
      .min(1)
      .refine(
        (password) => hasChars(password, PASSWORD_CHANGE_MIN_CHARS),
        failsWith('PASSWORD_TOO_SHORT', `must have at least ${PASSWORD_CHANGE_MIN_CHARS} characters`),
      )
      .refine(
        (password) => charsOf(password) <= PASSWORD_MAX_CHARS,
        failsWith('BAD_REQUEST', `must have at most ${PASSWORD_MAX_CHARS} characters`),
      ),
  })
  .meta({ id: 'ChangePasswordRequest' });

export const startEmailChangeBody = z
  .object({ new_email: emailField, current_password: currentPassword })
  .meta({ id: 'StartEmailChangeRequest' });

export const emailChangeStarted = z
  .object({ message: z.string(), expires_in: z.int() })
  .meta({ id: 'EmailChangeStarted' });

export const confirmEmailChangeBody = z.object({ code: typedCode }).meta({ id: 'ConfirmEmailChangeRequest' });

export const deleteAccountBody = z
  .object({ current_password: currentPassword })
  .meta({ id: 'DeleteAccountRequest' });

/** The counts and the time are absent when the account was deleted before. */
export const accountDeleted = z
  .object({
    message: z.string(),
    requires_relogin: z.literal(true),
    billing_cancelled: z.int().optional().meta({ description: 'The number of cancelled subscriptions' }),
    instances_logout: z
      .int()
      .optional()
      .meta({ description: 'The number of instances whose logout was queued' }),
    deleted_at: timestamp.optional(),
  })
  .meta({ id: 'AccountDeleted' });
export type AccountDeleted = z.infer<typeof accountDeleted>;

/**
 * Routes answer a body of a wrong shape with the codes that the reference lists for them: INVALID_JSON where
 * it lists no BAD_REQUEST, and so on.
 */
const LOGIN_CODES = {
  missing: 'MISSING_FIELD',
  invalid: 'INVALID_JSON',
  malformed: 'INVALID_JSON',
} as const;

export const auth = {
  register: route(
    {
      auth: 'none',
      access: 'public',
      errors: ['CONFLICT', 'EMAIL_ALREADY_REGISTERED', 'REGISTRATION_FAILED'],
      summary: 'Register a company with its owner',
      description: 'Returns the first API key, which is shown only this once.',
    },
    { method: 'POST', path: '/v1/auth/register', body: registerBody, responses: { 201: registered } },
  ),
  quickRegister: route(
    {
      auth: 'none',
      access: 'public',
      errors: ['EMAIL_ALREADY_REGISTERED'],
      bodyCodes: { missing: 'BAD_REQUEST', invalid: 'BAD_REQUEST' },
      summary: 'Register with an e-mail alone',
      description: 'Returns an API key and a generated password, which is also sent by e-mail.',
    },
    {
      method: 'POST',
      path: '/v1/auth/quick-register',
      body: quickRegisterBody,
      responses: { 201: quickRegistered },
    },
  ),
  login: route(
    {
      auth: 'none',
      access: 'public',
      errors: ['INVALID_CREDENTIALS', 'ACCOUNT_DELETED', 'COMPANY_SUSPENDED', 'ACCOUNT_LOCKED'],
      bodyCodes: LOGIN_CODES,
      summary: 'Log in',
      description: 'Returns a JWT and sets the cookies svc_refresh_token and svc_csrf_token.',
    },
    { method: 'POST', path: '/v1/auth/login', body: loginBody, responses: { 200: session } },
  ),
  refresh: route(
    {
      auth: 'refresh',
      access: 'public',
      errors: ['COMPANY_SUSPENDED'],
      summary: 'Refresh the session',
      description:
        'Takes the cookie svc_refresh_token with X-CSRF-Token, returns a JWT and rotates the cookie.',
    },
    { method: 'POST', path: '/v1/auth/refresh', body: c.noBody(), responses: { 200: session } },
  ),
  logout: route(
    {
      auth: 'any',
      access: 'all',
      csrf: 'optional',
      summary: 'Log out',
      description:
        'Revokes the JWT and its refresh token and clears the cookies. With an API key it only clears the cookies.',
    },
    { method: 'POST', path: '/v1/auth/logout', body: c.noBody(), responses: { 204: c.noBody() } },
  ),
  forgotPassword: route(
    {
      auth: 'none',
      access: 'public',
      bodyCodes: LOGIN_CODES,
      summary: 'Request a password reset link',
      description: 'Always 202, whether or not the account exists.',
    },
    {
      method: 'POST',
      path: '/v1/auth/forgot-password',
      body: forgotPasswordBody,
      responses: { 202: acknowledged },
    },
  ),
  resetPassword: route(
    {
      auth: 'none',
      access: 'public',
      errors: ['RESET_TOKEN_INVALID', 'RESET_TOKEN_EXPIRED'],
      summary: 'Choose a new password with the token of a reset or invite link',
      description: 'The token can be used once.',
    },
    {
      method: 'POST',
      path: '/v1/auth/reset-password',
      body: resetPasswordBody,
      responses: { 200: acknowledged },
    },
  ),
  verifyEmail: route(
    {
      auth: 'jwt',
      access: 'all',
      errors: [
        'EMAIL_VERIFICATION_CODE_INVALID',
        'EMAIL_VERIFICATION_CODE_EXPIRED',
        'EMAIL_VERIFICATION_MAX_ATTEMPTS',
        'EMAIL_ALREADY_VERIFIED',
      ],
      bodyCodes: {
        missing: 'EMAIL_VERIFICATION_CODE_INVALID',
        invalid: 'EMAIL_VERIFICATION_CODE_INVALID',
        malformed: 'EMAIL_VERIFICATION_CODE_INVALID',
        fallback: NO_CODE,
      },
      summary: 'Verify the e-mail address',
      description:
        'Returns a new session and sets its cookies. A value other than six digits counts as a wrong code.',
    },
    { method: 'POST', path: '/v1/auth/verify-email', body: verifyEmailBody, responses: { 200: session } },
  ),
  resendVerification: route(
    {
      auth: 'jwt',
      access: 'all',
      errors: ['EMAIL_VERIFICATION_RESEND_COOLDOWN', 'EMAIL_ALREADY_VERIFIED'],
      summary: 'Send another verification code',
    },
    { method: 'POST', path: '/v1/auth/verify-email/resend', body: c.noBody(), responses: { 202: codeSent } },
  ),
  updateMe: route(
    {
      auth: 'jwt',
      access: 'all',
      errors: ['OWNER_ONLY', 'CONFLICT'],
      bodyCodes: { missing: 'BAD_REQUEST', invalid: 'BAD_REQUEST', malformed: 'BAD_REQUEST' },
      summary: 'Change your name, or the name of the company as its owner',
      description: 'A request without fields changes nothing. The slug never changes.',
    },
    { method: 'PATCH', path: '/v1/auth/me', body: updateMeBody, responses: { 200: me } },
  ),
  changePassword: route(
    {
      auth: 'jwt',
      access: 'all',
      errors: ['PASSWORD_TOO_SHORT', 'INVALID_CURRENT_PASSWORD'],
      bodyCodes: { missing: 'MISSING_FIELD', invalid: 'MISSING_FIELD', malformed: 'MISSING_FIELD' },
      summary: 'Change your password',
      description: 'Ends every session. Only the JWT of this request stays valid until it expires.',
    },
    {
      method: 'PATCH',
      path: '/v1/auth/me/password',
      body: changePasswordBody,
      responses: { 200: reloginRequired },
    },
  ),
  startEmailChange: route(
    {
      auth: 'jwt',
      access: 'all',
      errors: ['INVALID_CURRENT_PASSWORD', 'EMAIL_ALREADY_TAKEN'],
      bodyCodes: { missing: 'MISSING_FIELD', invalid: 'BAD_REQUEST', malformed: 'BAD_REQUEST' },
      summary: 'Start to change your e-mail address',
      description: 'Sends a code to the new address and a notice to the old one.',
    },
    {
      method: 'POST',
      path: '/v1/auth/me/email/start',
      body: startEmailChangeBody,
      responses: { 202: emailChangeStarted },
    },
  ),
  confirmEmailChange: route(
    {
      auth: 'jwt',
      access: 'all',
      errors: [
        'EMAIL_CHANGE_CODE_INVALID',
        'EMAIL_CHANGE_NOT_FOUND',
        'EMAIL_CHANGE_LOCKED',
        'EMAIL_ALREADY_TAKEN',
      ],
      bodyCodes: {
        missing: 'EMAIL_CHANGE_CODE_INVALID',
        invalid: 'EMAIL_CHANGE_CODE_INVALID',
        malformed: 'EMAIL_CHANGE_CODE_INVALID',
        fallback: NO_CODE,
      },
      summary: 'Confirm the change of your e-mail address',
      description: 'A value other than six digits counts as a wrong code.',
    },
    {
      method: 'POST',
      path: '/v1/auth/me/email/confirm',
      body: confirmEmailChangeBody,
      responses: { 200: reloginRequired },
    },
  ),
  deleteAccount: route(
    {
      auth: 'jwt_or_cookie',
      access: 'all',
      errors: ['INVALID_CURRENT_PASSWORD', 'OWNER_ONLY', 'ACCOUNT_DELETION_FAILED'],
      statuses: { ACCOUNT_DELETION_FAILED: [500, 502] },
      bodyCodes: LOGIN_CODES,
      summary: 'Delete the company and everything in it',
      description:
        'Cancels its subscriptions, logs its instances out and ends every session. The data is kept for 30 days. Takes the JWT, or the refresh cookie with X-CSRF-Token.',
    },
    {
      method: 'DELETE',
      path: '/v1/auth/me/account',
      body: deleteAccountBody,
      responses: { 200: accountDeleted },
    },
  ),
} satisfies AppRouter;
