import { DIGITS, EVENT_ID, INSTANCE_ID, MEDIA_ID, NETWORK_ID, TASK_ID } from './field-docs/sample-values.ts';

/** Each parameter of a path: what it names, for documents and editors, and an example of it. */
export const PATH_PARAMS: Readonly<Record<string, readonly [description: string, example: string]>> = {
  chatId: ['The phone number or JID of the chat.', DIGITS],
  companyId: ['The id of the company.', '7'],
  contactId: ['The phone number or JID of the contact.', DIGITS],
  eventId: ['The UUID of the event.', EVENT_ID],
  groupJid: ['The JID of the group.', '120363000000000000@g.us'],
  id: ['The id of the record.', '7'],
  instanceId: ['The UUID of the instance.', INSTANCE_ID],
  itemId: ['The id of the subscription item.', '7'],
  labelId: ['The slot of the label.', '1'],
  lid: ['The anonymous id, <digits>@lid.', '150000000000000@lid'],
  logId: ['The id of the attempt in the delivery log.', '7'],
  mediaId: ['The UUID of the media.', MEDIA_ID],
  messageId: ['The UUID of the message, or its id on the network.', NETWORK_ID],
  noteId: ['The id of the note.', '7'],
  personJid: ['The phone number or any JID of the contact.', DIGITS],
  provider: ['The login provider: google or github.', 'google'],
  scheduledId: ['The UUID of the scheduled send.', '0198c0de-0000-7000-8000-0000000000c1'],
  templateName: ['The name of the template.', 'order_shipped'],
  statusId: ['The UUID of the status, or its id on the network.', NETWORK_ID],
  taskId: ['The task_id that the send returned.', TASK_ID],
  webhookId: ['The id of the webhook.', '7'],
};
