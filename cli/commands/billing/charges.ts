import { defineCommand, integer, text } from '../../command.ts';
import { table } from '../../format.ts';

export const listCharges = defineCommand({
  name: 'billing charges',
  endpoints: ['billing.charges.list'],
  summary: 'List the charges, newest first',
  flags: {
    status: text('status', 'e.g. pending, overdue, received'),
    limit: integer('n', 'how many, default 50'),
  },
  async run(context, { status, limit }) {
    const found = await context.billing().charges.list({ query: { status, limit: limit?.toString() } });
    context.out.show(
      found,
      table(
        found.data,
        ['id', 'asaas_payment_id', 'billing_type', 'status', 'amount_cents', 'due_date', 'paid_at'],
        'no charges',
      ),
    );
  },
});
