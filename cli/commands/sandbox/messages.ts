import { ASSIGNMENTS_HELP, parseAssignments } from '../../assignments.ts';
import { defineCommand, integer, many, required, text } from '../../command.ts';
import { fields, table } from '../../format.ts';

const phone = required(text('phone', 'its number'));

interface PhoneMessage {
  id: string;
  time: string;
  from: string;
  type: string;
  status: string;
  text: string;
}

export const listMessages = defineCommand({
  name: 'sandbox messages list',
  summary: 'Show the messages on a virtual phone',
  isDefault: true,
  args: { phone },
  flags: { chat: text('phone', 'only one chat'), limit: integer('n', 'only the last so many') },
  async run(context, { phone, chat, limit }) {
    const path = `/phones/${encodeURIComponent(phone)}/messages`;
    const found = await context
      .sandbox()
      .call<{ messages: PhoneMessage[]; total: number }>({ path, query: { chat, limit } });
    context.out.show(
      found,
      table(found.messages, ['time', 'from', 'type', 'status', 'text', 'id'], 'no messages'),
    );
  },
});

export const sendFromPhone = defineCommand({
  name: 'sandbox messages send',
  summary: 'Send a message from a virtual phone',
  details: `${ASSIGNMENTS_HELP}\n\nWith the number of an instance, it acts as that instance's user typing on the phone: the instance emits message.sent.`,
  args: { phone, more: many('fields', 'further fields of the type, e.g. caption=Hi') },
  flags: {
    to: required(text('phone', 'the recipient: the number of an instance or of another phone')),
    text: text('text', 'the text'),
    type: text('type', 'default text'),
  },
  async run(context, { phone, more, to, text, type = 'text' }) {
    const body = { ...parseAssignments(more), to, type, ...(text === undefined ? {} : { text }) };
    const path = `/phones/${encodeURIComponent(phone)}/messages`;
    const sent = await context.sandbox().call({ method: 'POST', path, body });
    context.out.show(sent, fields(sent));
  },
});
