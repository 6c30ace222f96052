import { defineCommand, integer, text } from '../../command.ts';
import { UsageError } from '../../fault.ts';
import { INSTANCE_STATES, instancePage } from './states.ts';

export const listInstances = defineCommand({
  name: 'instances list',
  endpoints: ['instances.list'],
  summary: 'List the instances, newest first',
  flags: {
    state: text('state', INSTANCE_STATES.join(', ')),
    page: integer('n', 'page, default 1'),
    limit: integer('n', 'how many, default 50'),
  },
  async run(context, { state, page, limit }) {
    const wanted = INSTANCE_STATES.find((one) => one === state?.toUpperCase());
    if (state && !wanted) throw new UsageError(`--state must be one of ${INSTANCE_STATES.join(', ')}`);
    const found = await context.client().instances.list({ query: { state: wanted, page, limit } });
    context.out.show(found, instancePage(found));
  },
});
