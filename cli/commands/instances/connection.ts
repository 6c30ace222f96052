import { defineCommand } from '../../command.ts';
import { fields, table } from '../../format.ts';
import { namedInstance } from './named.ts';

export const getConnection = defineCommand({
  name: 'instances connection',
  endpoints: ['instances.connection'],
  summary: 'The state of the connection and how it came about',
  args: namedInstance,
  async run(context, { which }) {
    const found = await context
      .client()
      .instances.connection({ instanceId: await context.instanceId(which) });
    const { moves, ...state } = found;
    context.out.show(
      found,
      `${fields(state)}\n\n${table(moves, ['at', 'from', 'to', 'reason'], 'no moves yet')}`,
    );
  },
});
