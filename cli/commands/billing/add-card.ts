import { type Command, defineCommand, integer, required, text } from '../../command.ts';
import { UsageError } from '../../fault.ts';
import { fields } from '../../format.ts';

export const addCard: Command = defineCommand({
  name: 'billing cards add',
  endpoints: ['billing.cards.tokenize'],
  summary: 'Store a card with the payment provider',
  details:
    'Reads the number and the CVV from standard input, one a line, because other users can see arguments.',
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

async function readLines(stdin: NodeJS.ReadStream, note: (text: string) => void): Promise<[string, string]> {
  if (stdin.isTTY) note('number, then CVV:');
  const { createInterface } = await import('node:readline');
  const lines: string[] = [];
  for await (const line of createInterface({ input: stdin })) {
    lines.push(line.trim());
    if (lines.length === 2) break;
  }
  const [number, cvv] = lines;
  if (!number || !cvv) throw new UsageError('standard input must have two lines: the number and the CVV');
  return [number, cvv];
}
