import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { boundedArray } from '../bounded.ts';
import { QUERY_REPEATS_MAX } from '../limits.ts';
import { c, route } from '../route-meta.ts';
import { companyName, session } from './auth.ts';

export const completeSignupBody = z
  .object({
    token: z
      .string()
      .min(1)
      .max(256)
      .meta({ description: 'The pending token that /oauth/complete received' }),
    company_name: companyName,
  })
  .meta({ id: 'CompleteSignupRequest' });

export const oauthProviders = z
  .object({
    providers: z
      .array(z.enum(['google', 'github']))
      .meta({ description: 'The providers with which people can log in and sign up' }),
  })
  .meta({ id: 'OAuthProviderList' });
export type OAuthProviderList = z.infer<typeof oauthProviders>;

const parameter = z.union([z.string(), boundedArray(z.string(), { max: QUERY_REPEATS_MAX })]).optional();

/** All parameters that the provider sends, its `iss` included; the use case judges them, since every fault is a redirect. */
const callbackQuery = z.looseObject({ state: parameter, code: parameter, error: parameter });

export const oauth = {
  providers: route(
    {
      auth: 'none',
      access: 'public',
      errors: [],
      summary: 'List the enabled social logins',
      description: 'For login pages. Empty when the installation has none.',
    },
    {
      method: 'GET',
      path: '/v1/auth/oauth/providers',
      responses: { 200: oauthProviders },
    },
  ),
  start: route(
    {
      auth: 'none',
      access: 'public',
      errors: ['OAUTH_PROVIDER_INVALID', 'OAUTH_PROVIDER_DISABLED'],
      tellsOutages: true,
      summary: 'Log in or sign up with google or github',
      description:
        'Redirects to the provider. Errors are JSON; with `Accept: text/html` they are redirects to /login?oauth_error=<ERROR_CODE>.',
    },
    {
      method: 'GET',
      path: '/v1/auth/oauth/:provider/start',
      query: z.object({ mode: z.enum(['login', 'signup']).default('login').catch('login') }),
      responses: { 302: c.noBody() },
    },
  ),
  callback: route(
    {
      auth: 'none',
      access: 'public',
      tellsOutages: true,
      errors: ['OAUTH_STATE_INVALID', 'OAUTH_EMAIL_UNVERIFIED', 'OAUTH_UPSTREAM_FAILED'],
      summary: 'Receive the browser back from the login provider',
      description:
        'Always redirects: to /oauth/callback with a session, to /oauth/complete with a pending token, or to /login?oauth_error=<ERROR_CODE>.',
    },
    {
      method: 'GET',
      path: '/v1/auth/oauth/:provider/callback',
      query: callbackQuery,
      responses: { 302: c.noBody() },
    },
  ),
  completeSignup: route(
    {
      auth: 'none',
      access: 'public',
      errors: ['OAUTH_PENDING_INVALID', 'EMAIL_ALREADY_REGISTERED', 'CONFLICT', 'REGISTRATION_FAILED'],
      bodyCodes: {
        missing: 'BAD_REQUEST',
        invalid: 'BAD_REQUEST',
        malformed: 'BAD_REQUEST',
        fields: { token: 'OAUTH_PENDING_INVALID' },
      },
      summary: 'Finish a sign-up that began at a provider',
      description: 'Creates the company, its owner and the link to the provider, and returns a session.',
    },
    {
      method: 'POST',
      path: '/v1/auth/oauth/complete-signup',
      body: completeSignupBody,
      responses: { 200: session },
    },
  ),
} satisfies AppRouter;
