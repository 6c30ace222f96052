import { type Command, defineCommand, integer, required, text } from '../../command.ts';
import { UsageError } from '../../fault.ts';
import { fields, table } from '../../format.ts';

const id = required(integer('id', 'its number, from msgctl billing cards'));

export const listCards = defineCommand({
  name: 'billing cards list',
  endpoints: ['billing.cards.list'],
  summary: 'List the cards',
  isDefault: true,
  async run(context) {
    const found = await context.billing().cards.list();
    const columns = ['id', 'brand', 'last4', 'exp_month', 'exp_year', 'holder_name', 'is_default'] as const;
    context.out.show(found, table(found.data, columns, 'no cards'));
  },
});

export const addCard: Command = defineCommand({
  name: 'billing cards add',
  endpoints: ['billing.cards.tokenize'],
  summary: 'Store a card with the payment provider',
  details: 'Reads the number and the CVV from standard input, a line each: arguments are visible to others.',
  flags: {
    holder: text('name', 'as on the card'),
    expMonth: required(integer('month', '1 to 12', { max: 12 })),
    expYear: required(integer('year', 'four digits', { min: 2000, max: 2100 })),
  },
  async run(context, { holder, expMonth, expYear }) {
    const billing = context.billing();
    const profile = await billing.profile.get();
    const [number, cvv] = await readLines(context.stdin, context.out.note);
    const card = await billing.cards.tokenize({
      body: {
        billing_profile_id: profile.id,
        number,
        cvv,
        holder_name: holder,
        exp_month: expMonth,
        exp_year: expYear,
      },
    });
    context.out.show(card, fields(card));
  },
});

export const defaultCard = defineCommand({
  name: 'billing cards default',
  endpoints: ['billing.cards.makeDefault'],
  summary: 'Make a card the default',
  args: { id },
  async run(context, { id }) {
    await context.billing().cards.makeDefault({ id });
    context.out.show({ id, is_default: true }, `card ${id} is the default`);
  },
});

export const removeCard = defineCommand({
  name: 'billing cards remove',
  endpoints: ['billing.cards.remove'],
  destroys: 'This removes the card',
  summary: 'Remove a card',
  args: { id },
  async run(context, { id }) {
    await context.billing().cards.remove({ id });
    context.out.show({ id, removed: true }, `removed card ${id}`);
  },
});

async function readLines(stdin: NodeJS.ReadStream, note: (text: string) => void): Promise<[string, string]> {
  if (stdin.isTTY) note('number, then CVV:');
  const { createInterface } = await import('node:readline');
  const lines: string[] = [];
  for await (const line of createInterface({ input: stdin })) {
    lines.push(line.trim());
    if (lines.length === 2) break;
  }
  const [number, cvv] = lines;
  if (!number || !cvv) throw new UsageError('standard input must have the number and the CVV, a line each');
  return [number, cvv];
}
