import { DIGITS, EVENT_ID, INSTANCE_ID, MEDIA_ID, NETWORK_ID, TASK_ID } from './field-docs/sample-values.ts';

/** Each parameter of a path: what it names, for documents and editors, and an example of it. */
export const PATH_PARAMS: Readonly<Record<string, readonly [description: string, example: string]>> = {
  chatId: ['The chat, by its phone number or its JID.', DIGITS],
  companyId: ['The company, by its number.', '7'],
  contactId: ['The contact, by its phone number or its JID.', DIGITS],
  eventId: ['The event, by its UUID.', EVENT_ID],
  groupJid: ['The group, by its JID.', '120363000000000000@g.us'],
  id: ['The id of the record.', '7'],
  instanceId: ['The instance, by its UUID.', INSTANCE_ID],
  itemId: ['The item of the subscription, by its number.', '7'],
  labelId: ['The label, by its slot.', '1'],
  lid: ['The anonymous id, <digits>@lid.', '150000000000000@lid'],
  logId: ['The row of the delivery log, by its number.', '7'],
  mediaId: ['The media, by its UUID.', MEDIA_ID],
  messageId: ['The message, by its UUID or its id on the network.', NETWORK_ID],
  noteId: ['The note, by its number.', '7'],
  personJid: ['Whose presence: a phone number or any JID.', DIGITS],
  provider: ['The social login: google or github.', 'google'],
  scheduledId: ['The scheduled send, by its UUID.', '0198c0de-0000-7000-8000-0000000000c1'],
  templateName: ['The template, by its name.', 'order_shipped'],
  statusId: ['The status, by its UUID or its id on the network.', NETWORK_ID],
  taskId: ['The queued task, by the task_id of its send.', TASK_ID],
  webhookId: ['The webhook, by its number.', '7'],
};
