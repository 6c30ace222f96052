import { defineCommand, integer, text, toggle } from '../../command.ts';
import { fields, table } from '../../format.ts';

interface LedgerEntry {
  seq: number;
  time: string;
  from: string;
  to: string;
  type: string;
  network_id: string;
  times_seen: number;
}

export const ledger = defineCommand({
  name: 'sandbox ledger',
  summary: 'List the envelopes that the network received, and how often it received each',
  flags: {
    phone: text('phone', 'only from or to this number'),
    from: text('phone', 'only from this number'),
    to: text('phone', 'only to this number'),
    after: integer('seq', 'only entries after this one', { min: 0 }),
    limit: integer('n', 'how many, default 1000'),
    summary: toggle('only count: received, duplicates, by sender'),
  },
  async run(context, { summary, after, limit, ...who }) {
    if (summary) {
      const counts = await context.sandbox().call({ path: '/ledger/summary', query: who });
      return context.out.show(counts, fields(counts));
    }
    const found = await context
      .sandbox()
      .call<{ entries: LedgerEntry[]; total: number }>({ path: '/ledger', query: { ...who, after, limit } });
    const columns = ['seq', 'time', 'from', 'to', 'type', 'times_seen', 'network_id'] as const;
    context.out.show(found, table(found.entries, columns, 'nothing received'));
  },
});
