import { defineCommand, required, text } from '../../command.ts';
import { fields, table } from '../../format.ts';

export const listQueue = defineCommand({
  name: 'queue list',
  endpoints: ['queue.list'],
  summary: 'What was accepted and is not sent yet',
  isDefault: true,
  async run(context) {
    const found = await context.client().queue.list({ instanceId: await context.instanceId() });
    const columns = ['created_at', 'operation', 'message_type', 'chat_jid', 'task_id'] as const;
    context.out.show(found, table(found.data, [...columns], 'nothing waits'));
  },
});

export const cancelTask = defineCommand({
  name: 'queue cancel',
  endpoints: ['queue.cancel'],
  summary: 'Cancel one queued task',
  args: { taskId: required(text('id', 'its task id')) },
  async run(context, { taskId }) {
    const done = await context.client().queue.cancel({ instanceId: await context.instanceId(), taskId });
    context.out.show(done, fields(done));
  },
});

export const clearQueue = defineCommand({
  name: 'queue clear',
  endpoints: ['queue.clear'],
  summary: 'Cancel everything that is queued',
  destroys: 'This cancels everything that is queued',
  async run(context) {
    const done = await context.client().queue.clear({ instanceId: await context.instanceId() });
    context.out.show(done, fields(done));
  },
});
