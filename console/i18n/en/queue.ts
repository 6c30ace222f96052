export const queue = {
  tabs: { log: 'All messages', queue: 'Queue', scheduled: 'Scheduled' },
  empty: 'Nothing waits: whatever was accepted has been sent.',
  noScheduled: 'Nothing is scheduled. The form to send a message has a time.',
  clear: 'Cancel everything',
  clearText: 'Every message that waits fails with the reason cancelled. What is being sent now still goes.',
  waits: 'Waits for',
  typing: 'being typed',
  waiting: 'its turn',
  sendAt: 'When',
  statuses: {
    scheduled: 'Scheduled',
    claimed: 'Being sent',
    queued: 'Accepted',
    failed: 'Failed',
    cancelled: 'Cancelled',
  },
};
