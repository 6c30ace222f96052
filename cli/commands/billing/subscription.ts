import type { Subscription } from '@posthorn/sdk/index.ts';
import { defineCommand, integer, many, oneOf, required, text, toggle } from '../../command.ts';
import { UsageError } from '../../fault.ts';
import { fields, table } from '../../format.ts';

export const createSubscription = defineCommand({
  name: 'billing subscribe',
  endpoints: ['billing.subscriptions.create'],
  summary: 'Subscribe to a plan; starts a trial of 30 days',
  args: { plan: required(text('plan', 'its code, from msgctl billing plans')) },
  flags: {
    by: oneOf(
      'pix|boleto|credit_card',
      ['pix', 'boleto', 'credit_card'],
      'how it is paid, default pix',
      'by',
    ),
    card: integer('id', 'the card to charge, for credit_card'),
    addon: many('code[=quantity]', 'an add-on; may be repeated'),
  },
  async run(context, { plan, by = 'pix', card, addon }) {
    const subscription = await context.billing().subscriptions.create({
      body: {
        plan_code: plan,
        billing_type: by,
        card_id: card,
        addons: addon.map(parseAddon),
      },
    });
    context.out.show(subscription, shownSubscription(subscription));
  },
});

export const changePlan = defineCommand({
  name: 'billing change-plan',
  endpoints: ['billing.subscriptions.changePlan'],
  summary: 'Change the plan from the next payment on',
  args: { plan: required(text('plan', 'its code')) },
  async run(context, { plan }) {
    const { subscriptions } = context.billing();
    const { id } = await subscriptions.current();
    const change = await subscriptions.changePlan({ id, body: { new_plan_code: plan } });
    context.out.show(change, `${change.new_plan_code} is ${change.status} for the next payment`);
  },
});

export const cancelSubscription = defineCommand({
  name: 'billing cancel',
  endpoints: ['billing.subscriptions.cancel'],
  destroys: 'This cancels the subscription',
  summary: 'Cancel the subscription at the end of its period, or now',
  flags: { now: toggle('at once'), reason: text('text', 'why') },
  async run(context, { now, reason }) {
    const { subscriptions } = context.billing();
    const { id } = await subscriptions.current();
    await subscriptions.cancel({ id, body: { immediate: now, reason } });
    const subscription = await subscriptions.current();
    context.out.show(subscription, shownSubscription(subscription));
  },
});

export const addItem = defineCommand({
  name: 'billing items add',
  endpoints: ['billing.subscriptions.addItem'],
  summary: 'Add an add-on to the subscription',
  args: { addon: required(text('addon', 'its code, from msgctl billing addons')) },
  flags: { quantity: integer('n', 'how many, default 1') },
  async run(context, { addon, quantity }) {
    const { subscriptions } = context.billing();
    const { id } = await subscriptions.current();
    const item = await subscriptions.addItem({ id, body: { addon_code: addon, quantity } });
    context.out.show(item, fields(item));
  },
});

export const removeItem = defineCommand({
  name: 'billing items remove',
  endpoints: ['billing.subscriptions.removeItem'],
  destroys: 'This removes the add-on',
  summary: 'Remove an add-on from the subscription',
  args: { item: required(integer('id', 'its number, from msgctl billing subscription')) },
  async run(context, { item }) {
    const { subscriptions } = context.billing();
    const { id } = await subscriptions.current();
    await subscriptions.removeItem({ id, itemId: item });
    context.out.show({ id: item, removed: true }, `removed item ${item}`);
  },
});

export function shownSubscription({ items, ...subscription }: Subscription): string {
  const columns = ['id', 'type', 'code', 'quantity', 'unit_price_cents', 'scheduled_for_next_cycle'] as const;
  return `${fields(subscription)}\n\n${table(items, columns, 'no items')}`;
}

/** `extra_user=2`. */
function parseAddon(given: string): { code: string; quantity: number } {
  const [code, quantity = '1', more] = given.split('=');
  if (!code || more !== undefined || !/^\d+$/.test(quantity))
    throw new UsageError('addon must be a code, or a code and a number: extra_user=2');
  return { code, quantity: Number(quantity) };
}
