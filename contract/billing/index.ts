import type { AppRouter } from '@ts-rest/core';
import { admin } from './admin.ts';
import { cards } from './cards.ts';
import { catalog } from './catalog.ts';
import { charges } from './charges.ts';
import { health } from './health.ts';
import { openapi } from './openapi.ts';
import { profile } from './profile.ts';
import { providerWebhook } from './provider-webhook.ts';
import { billingSimulator } from './simulator.ts';
import { subscriptions } from './subscriptions.ts';

/** Every endpoint of the billing service, the internal one aside. */
export const billingContract = {
  catalog,
  profile,
  subscriptions,
  cards,
  charges,
  providerWebhook,
  admin,
  simulator: billingSimulator,
  health,
  openapi,
} satisfies AppRouter;
