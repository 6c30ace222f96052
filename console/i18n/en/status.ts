export const status = {
  title: 'Status',
  post: 'Post a status',
  whose: 'Whose statuses',
  directions: { outbound: 'Posted here', inbound: 'Of contacts' },
  empty: {
    outbound: 'A status is shown to your contacts for a day. Post the first one.',
    inbound: 'No contact has posted a status.',
  },
  views: 'Who saw it',
  seenBy_one: 'Seen by one person',
  seenBy_other: 'Seen by {{count}} people',
  open: 'See the statuses',
  again: 'Post another',
};
