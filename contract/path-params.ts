/** What each parameter of a path names, for documents and editors. */
export const PATH_PARAMS: Readonly<Record<string, string>> = {
  companyId: 'The company, by its number.',
  eventId: 'The event, by its UUID.',
  groupJid: 'The group, by its JID.',
  id: 'The id of the record.',
  instanceId: 'The instance, by its UUID.',
  itemId: 'The item of the subscription, by its number.',
  lid: 'The anonymous id, <digits>@lid.',
  logId: 'The row of the delivery log, by its number.',
  mediaId: 'The media, by its UUID.',
  messageId: 'The message, by its UUID or its id on the network.',
  personJid: 'Whose presence: a phone number or any JID.',
  provider: 'The social login: google or github.',
  scheduledId: 'The scheduled send, by its UUID.',
  statusId: 'The status, by its UUID or its id on the network.',
  taskId: 'The queued task, by the task_id of its send.',
  webhookId: 'The webhook, by its number.',
};
