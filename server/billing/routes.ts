import type { billingContract } from '@posthorn/contract/billing/index.ts';
import { listAddons, listPlans } from '@posthorn/core/billing/catalog/list-catalog.ts';
import { listCharges } from '@posthorn/core/billing/charges/list-charges.ts';
import type { BillingDeps } from '@posthorn/core/billing/deps.ts';
import { makeCardDefault, removeCard } from '@posthorn/core/billing/payers/change-cards.ts';
import { changeProfile } from '@posthorn/core/billing/payers/change-profile.ts';
import { createProfile } from '@posthorn/core/billing/payers/create-profile.ts';
import { listCards } from '@posthorn/core/billing/payers/list-cards.ts';
import { readProfile } from '@posthorn/core/billing/payers/read-profile.ts';
import { tokenizeCard } from '@posthorn/core/billing/payers/tokenize-card.ts';
import {
  listProviderEvents,
  readMetrics,
  reprocessEvent,
} from '@posthorn/core/billing/provider-events/admin-events.ts';
import { ingestEvent } from '@posthorn/core/billing/provider-events/ingest-event.ts';
import { cancelSubscription } from '@posthorn/core/billing/subscriptions/cancel-subscription.ts';
import { addItem, removeItem } from '@posthorn/core/billing/subscriptions/change-items.ts';
import { changePlan } from '@posthorn/core/billing/subscriptions/change-plan.ts';
import { createSubscription } from '@posthorn/core/billing/subscriptions/create-subscription.ts';
import { readCurrentSubscription } from '@posthorn/core/billing/subscriptions/read-subscription.ts';
import type { Handlers } from '../http/handler.ts';

type Routes = Omit<Handlers<typeof billingContract>, 'health' | 'openapi' | 'simulator'>;

/** The billing endpoints, including the admin ones (docs/reference/billing.md): parse, one use case, map. */
export function billingRoutes(deps: BillingDeps): Routes {
  return {
    catalog: {
      listPlans: async ({ query }) => ({ status: 200, body: { data: await listPlans(deps, query) } }),
      listAddons: async () => ({ status: 200, body: { data: await listAddons(deps) } }),
    },
    profile: profileRoutes(deps),
    subscriptions: subscriptionRoutes(deps),
    cards: cardRoutes(deps),
    charges: {
      list: async ({ principal, query }) => ({
        status: 200,
        body: { data: await listCharges(deps, { companyId: principal.companyId, ...query }) },
      }),
    },
    providerWebhook: {
      async ingest({ body, traceId }) {
        await ingestEvent(deps, { event: body, traceId });
        return { status: 200, body: { received: true } };
      },
    },
    admin: {
      metrics: async () => ({ status: 200, body: await readMetrics(deps) }),
      listEvents: async ({ query }) => ({ status: 200, body: await listProviderEvents(deps, query) }),
      async reprocessEvent({ params }) {
        const id = Number(params.id);
        await reprocessEvent(deps, { eventId: id });
        return { status: 202, body: { id, status: 'pending' } };
      },
    },
  };
}

function profileRoutes(deps: BillingDeps): Routes['profile'] {
  return {
    get: async ({ principal }) => ({ status: 200, body: await readProfile(deps, principal) }),
    create: async ({ principal, body }) => ({
      status: 201,
      body: await createProfile(deps, { companyId: principal.companyId, profile: body }),
    }),
    update: async ({ principal, body }) => ({
      status: 200,
      body: await changeProfile(deps, { companyId: principal.companyId, change: body }),
    }),
  };
}

function subscriptionRoutes(deps: BillingDeps): Routes['subscriptions'] {
  const named = (principal: { companyId: number }, id: string) => ({
    companyId: principal.companyId,
    subscriptionId: Number(id),
  });
  return {
    current: async ({ principal }) => ({
      status: 200,
      body: await readCurrentSubscription(deps, { companyId: principal.companyId }),
    }),
    create: async ({ principal, body, ip }) => ({
      status: 201,
      body: await createSubscription(deps, { companyId: principal.companyId, body, remoteIp: ip }),
    }),
    async changePlan({ principal, params, body }) {
      await changePlan(deps, { ...named(principal, params.id), newPlanCode: body.new_plan_code });
      return { status: 202, body: { status: 'scheduled', new_plan_code: body.new_plan_code } };
    },
    async cancel({ principal, params, body }) {
      await cancelSubscription(deps, { ...named(principal, params.id), how: body });
      return { status: 204 };
    },
    addItem: async ({ principal, params, body }) => ({
      status: 202,
      body: await addItem(deps, {
        ...named(principal, params.id),
        addonCode: body.addon_code,
        quantity: body.quantity,
      }),
    }),
    async removeItem({ principal, params }) {
      await removeItem(deps, { ...named(principal, params.id), itemId: Number(params.itemId) });
      return { status: 204 };
    },
  };
}

function cardRoutes(deps: BillingDeps): Routes['cards'] {
  return {
    list: async ({ principal }) => ({
      status: 200,
      body: { data: await listCards(deps, { companyId: principal.companyId }) },
    }),
    tokenize: async ({ principal, body, ip }) => ({
      status: 201,
      body: await tokenizeCard(deps, { companyId: principal.companyId, card: body, remoteIp: ip }),
    }),
    async makeDefault({ principal, params }) {
      await makeCardDefault(deps, { companyId: principal.companyId, cardId: Number(params.id) });
      return { status: 204 };
    },
    async remove({ principal, params }) {
      await removeCard(deps, { companyId: principal.companyId, cardId: Number(params.id) });
      return { status: 204 };
    },
  };
}
