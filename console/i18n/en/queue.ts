export const queue = {
  tabs: {
    log: 'All messages',
    queue: 'Queue',
    scheduled: 'Scheduled',
    status: 'Status',
    media: 'Media',
    catalog: 'Catalog',
    templates: 'Templates',
  },
  empty: 'The queue is empty: every accepted message was sent.',
  noScheduled: 'Nothing is scheduled. To schedule a message, set its time in the form that sends it.',
  clear: 'Cancel everything',
  clearText:
    'Every waiting message fails with the reason cancelled. A message that is being sent now still goes out.',
  cancelText: 'This message fails with the reason cancelled: {{thing}}',
  cancelScheduledText: 'This message will not be sent: {{thing}}',
  typing: 'Typing for {{time}} more',
  waiting: 'Waits for its turn',
  sendAt: 'When',
  statuses: {
    scheduled: 'Scheduled',
    claimed: 'Being sent',
    queued: 'Accepted',
    failed: 'Failed',
    cancelled: 'Cancelled',
  },
};
