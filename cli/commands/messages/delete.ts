import { defineCommand, required, text } from '../../command.ts';
import { fields } from '../../format.ts';

export const messageId = required(text('id', 'its UUID or network id'));

export const deleteMessage = defineCommand({
  name: 'message delete',
  endpoints: ['messages.remove'],
  summary: 'Delete a message for everyone',
  destroys: 'This deletes the message for everyone',
  args: { messageId },
  flags: { to: required(text('chat', 'the chat of the message')) },
  async run(context, { messageId, to }) {
    const accepted = await context.client().messages.remove({
      instanceId: await context.instanceId(),
      messageId,
      body: { to, message_id: messageId },
    });
    context.out.show(accepted, fields(accepted));
  },
});
