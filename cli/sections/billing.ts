import { type Command, integer, oneOf, required, text } from '../command.ts';
import { addCard } from '../commands/billing/add-card.ts';
import { createProfile, updateProfile } from '../commands/billing/profile.ts';
import { simulateClock, simulateCommands } from '../commands/billing/simulate.ts';
import {
  addItem,
  cancelSubscription,
  changePlan,
  createSubscription,
  removeItem,
  shownSubscription,
} from '../commands/billing/subscription.ts';
import { calls } from '../endpoints/calls.ts';

const cardId = required(integer('id', 'its number, from msgctl billing cards'));

export const billing: readonly Command[] = [
  calls('billing plans', 'billing.catalog.listPlans', {
    summary: 'List the plans on offer',
    flags: { cycle: oneOf('monthly|yearly', ['monthly', 'yearly'], 'only those of this cycle', 'cycle') },
    columns: ['code', 'display_name', 'cycle', 'currency', 'price_cents', 'trial_days'],
    nothing: 'no plans',
  }),
  calls('billing addons', 'billing.catalog.listAddons', {
    summary: 'List the add-ons on offer',
    columns: ['code', 'description', 'cycle', 'price_cents', 'max_quantity'],
    nothing: 'no add-ons',
  }),
  calls('billing profile get', 'billing.profile.get', {
    summary: 'Show the billing profile',
    isDefault: true,
  }),
  createProfile,
  updateProfile,
  calls('billing cards list', 'billing.cards.list', {
    summary: 'List the cards',
    isDefault: true,
    columns: ['id', 'brand', 'last4', 'exp_month', 'exp_year', 'holder_name', 'is_default'],
    nothing: 'no cards',
  }),
  addCard,
  calls('billing cards default', 'billing.cards.makeDefault', {
    summary: 'Make a card the default',
    args: { id: cardId },
    done: ({ id }) => [{ id, is_default: true }, `card ${id} is the default`],
  }),
  calls('billing cards remove', 'billing.cards.remove', {
    summary: 'Remove a card',
    destroys: 'This removes the card',
    args: { id: cardId },
    done: ({ id }) => [{ id, removed: true }, `removed card ${id}`],
  }),
  createSubscription,
  calls('billing subscription', 'billing.subscriptions.current', {
    summary: 'Show the subscription and its items',
    shows: shownSubscription,
  }),
  changePlan,
  cancelSubscription,
  addItem,
  removeItem,
  calls('billing charges', 'billing.charges.list', {
    summary: 'List the charges, newest first',
    flags: {
      status: text('status', 'e.g. pending, overdue, received'),
      limit: integer('n', 'how many, default 50'),
    },
    columns: ['id', 'asaas_payment_id', 'billing_type', 'status', 'amount_cents', 'due_date', 'paid_at'],
    nothing: 'no charges',
  }),
  ...simulateCommands,
  simulateClock,
  calls('billing health', 'billing.health.health'),
  calls('billing ready', 'billing.health.ready'),
  calls('billing metrics', 'billing.health.metrics'),
  calls('billing openapi', 'billing.openapi.document'),
  calls('billing openapi-page', 'billing.openapi.page'),
];
