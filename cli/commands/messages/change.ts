import { defineCommand, required, text } from '../../command.ts';
import { fields } from '../../format.ts';

const messageId = required(text('id', 'its UUID or network id'));

export const editMessage = defineCommand({
  name: 'message edit',
  endpoints: ['messages.edit'],
  summary: 'Edit a text or a caption, up to 15 minutes after sending',
  args: { messageId },
  flags: { content: required(text('text', 'the new text or caption')) },
  async run(context, { messageId, content }) {
    const accepted = await context
      .client()
      .messages.edit({ instanceId: await context.instanceId(), messageId, body: { content } });
    context.out.show(accepted, fields(accepted));
  },
});

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
