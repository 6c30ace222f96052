import { type Command, defineCommand, integer, text } from '../../command.ts';
import { UsageError } from '../../fault.ts';
import { fields } from '../../format.ts';

const ACTIONS = {
  pay: 'Let the oldest open charge be paid',
  confirm: 'Let a charge be confirmed, and not yet received',
  overdue: 'Let the next charge become overdue',
  fail: 'Let risk analysis reprove a charge',
  refund: 'Let the last payment be refunded',
  chargeback: 'Let the last payment be charged back',
  'delete-charge': 'Let the provider delete a charge',
  'delete-subscription': 'Let the provider delete the subscription',
} as const;

type Action = keyof typeof ACTIONS;

/** One command for each action of the simulated payment provider. */
export const simulateCommands: readonly Command[] = (Object.keys(ACTIONS) as Action[]).map((action) =>
  defineCommand({
    name: `billing simulate ${action}`,
    endpoints: ['billing.simulator.act'],
    summary: ACTIONS[action],
    details: 'The simulated provider then sends its webhooks, like a real one.',
    flags: { payment: text('id', 'use this payment (asaas_payment_id) instead of the one that fits') },
    async run(context, { payment }) {
      const done = await context.billing().simulator.act({ body: { action, payment_id: payment } });
      context.out.show(done, fields(done));
    },
  }),
);

export const simulateClock: Command = defineCommand({
  name: 'billing simulate clock',
  endpoints: ['billing.simulator.advanceClock'],
  summary: 'Move the billing clock of this company forward',
  details: 'Trials, due dates and grace periods end as they would by then. The clock cannot be moved back.',
  flags: {
    days: integer('n', 'number of days', { max: 3650 }),
    hours: integer('n', 'number of hours', { max: 87_600 }),
  },
  async run(context, { days = 0, hours = 0 }) {
    if (days + hours === 0) throw new UsageError('how far? --days, --hours or both');
    const moved = await context
      .billing()
      .simulator.advanceClock({ body: { advance_seconds: (days * 24 + hours) * 3600 } });
    context.out.show(moved, fields(moved));
  },
});
