import {
  type Addon,
  type BillingProfile,
  type Card,
  type Charge,
  type CreateBillingProfileBody,
  type CreateSubscriptionBody,
  type Plan,
  PosthornError,
  type Subscription,
} from '@posthorn/sdk/index.ts';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useAuth } from '../../api/api-context.ts';

/** The means of payment of a subscription. */
export const BILLING_TYPES = ['pix', 'boleto', 'credit_card'] as const;
export type BillingType = (typeof BILLING_TYPES)[number];

/** No event reports a payment, so a page that waits for one polls. */
const LOOK_EVERY_MS = 5_000;

export interface CatalogOfPlans {
  plans: readonly Plan[];
  addons: readonly Addon[];
}

export function usePlans() {
  const { billing } = useAuth();
  return useQuery<CatalogOfPlans>({
    queryKey: ['billing', 'catalog'],
    queryFn: async ({ signal }) => {
      const [plans, addons] = await Promise.all([
        billing.catalog.listPlans({}, { signal }),
        billing.catalog.listAddons({}, { signal }),
      ]);
      return { plans: plans.data, addons: addons.data };
    },
  });
}

export interface Account {
  profile: BillingProfile | null;
  cards: readonly Card[];
  charges: readonly Charge[];
}

/** Whether a charge can still be paid. */
export function isOpen({ status }: Charge): boolean {
  return status === 'pending' || status === 'overdue';
}

/** Shows the payer, the means of payment and the charges. */
export function usePayer() {
  const { billing } = useAuth();
  return useQuery<Account>({
    queryKey: ['billing', 'payer'],
    queryFn: async ({ signal }) => {
      const [profile, cards, charges] = await Promise.all([
        orNull(billing.profile.get({}, { signal }), 'PROFILE_NOT_FOUND'),
        billing.cards.list({}, { signal }),
        billing.charges.list({}, { signal }),
      ]);
      return { profile, cards: cards.data, charges: charges.data };
    },
    refetchInterval: ({ state }) => (state.data?.charges.some(isOpen) ? LOOK_EVERY_MS : false),
  });
}

/** States that a payment changes. */
const UNPAID: readonly unknown[] = ['trialing', 'past_due', 'suspended'];

/** The newest subscription of the company; null without one. `isWatched` polls for the payment that it waits for. */
export function useSubscription({ enabled = true, isWatched = false } = {}) {
  const { billing } = useAuth();
  return useQuery<Subscription | null>({
    queryKey: ['billing', 'subscription'],
    enabled,
    staleTime: 60_000,
    refetchInterval: ({ state }) =>
      isWatched && UNPAID.includes(state.data?.status) ? LOOK_EVERY_MS : false,
    queryFn: ({ signal }) => orNull(billing.subscriptions.current({}, { signal }), 'SUBSCRIPTION_NOT_FOUND'),
  });
}

async function orNull<T>(asked: Promise<T>, code: string): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof PosthornError && error.code === code) return null;
    throw error;
  }
}

export interface NewCard {
  number: string;
  holder_name: string;
  exp_month: number;
  exp_year: number;
  cvv: string;
}

/** The changes that an owner may make. Each rereads all of billing, and the usage, whose limits it may change. */
export function useBillingChanges() {
  const { billing } = useAuth();
  const queries = useQueryClient();
  const refresh = async () => {
    await queries.invalidateQueries({ queryKey: ['billing'] });
    await queries.invalidateQueries({ queryKey: ['instances', 'usage'] });
  };
  const saveProfile = useMutation({
    mutationFn: (body: CreateBillingProfileBody) => billing.profile.create({ body }),
    onSuccess: refresh,
  });
  const subscribe = useMutation({
    mutationFn: (body: CreateSubscriptionBody) => billing.subscriptions.create({ body }),
    onSuccess: refresh,
  });
  const changePlan = useMutation({
    mutationFn: ({ id, code }: { id: number; code: string }) =>
      billing.subscriptions.changePlan({ id, body: { new_plan_code: code } }),
    onSuccess: refresh,
  });
  const cancel = useMutation({
    mutationFn: (id: number) => billing.subscriptions.cancel({ id, body: { at_period_end: true } }),
    onSuccess: refresh,
  });
  const addItem = useMutation({
    mutationFn: ({ id, code }: { id: number; code: string }) =>
      billing.subscriptions.addItem({ id, body: { addon_code: code, quantity: 1 } }),
    onSuccess: refresh,
  });
  const removeItem = useMutation({
    mutationFn: ({ id, itemId }: { id: number; itemId: number }) =>
      billing.subscriptions.removeItem({ id, itemId }),
    onSuccess: refresh,
  });
  const addCard = useMutation({
    mutationFn: ({ profileId, ...card }: NewCard & { profileId: number }) =>
      billing.cards.tokenize({ body: { billing_profile_id: profileId, ...card } }),
    // The card's number must not stay in the cache.
    gcTime: 0,
    onSuccess: refresh,
  });
  const changeCard = useMutation({
    mutationFn: ({ id, what }: { id: number; what: 'makeDefault' | 'remove' }) => billing.cards[what]({ id }),
    onSuccess: refresh,
  });
  return { saveProfile, subscribe, changePlan, cancel, addItem, removeItem, addCard, changeCard };
}

export type BillingChanges = ReturnType<typeof useBillingChanges>;
