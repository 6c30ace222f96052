import { defineCommand, text } from '../../command.ts';
import { table } from '../../format.ts';
import { oneOf } from './one-of.ts';

export const listPlans = defineCommand({
  name: 'billing plans',
  endpoints: ['billing.catalog.listPlans'],
  summary: 'List the plans on offer',
  flags: { cycle: text('monthly|yearly', 'only those of this cycle') },
  async run(context, { cycle }) {
    const query = { cycle: oneOf('cycle', ['monthly', 'yearly'] as const, cycle) };
    const found = await context.billing().catalog.listPlans({ query });
    context.out.show(
      found,
      table(
        found.data,
        ['code', 'display_name', 'cycle', 'currency', 'price_cents', 'trial_days'],
        'no plans',
      ),
    );
  },
});

export const listAddons = defineCommand({
  name: 'billing addons',
  endpoints: ['billing.catalog.listAddons'],
  summary: 'List the add-ons on offer',
  async run(context) {
    const found = await context.billing().catalog.listAddons();
    context.out.show(
      found,
      table(found.data, ['code', 'description', 'cycle', 'price_cents', 'max_quantity'], 'no add-ons'),
    );
  },
});
