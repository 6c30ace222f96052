export const admin = {
  title: 'Administration',
  tabs: { companies: 'Companies', instances: 'Instances', events: 'Provider events', feedback: 'Feedback' },
  empty: 'Nothing is here yet.',
  people: 'People',
  suspend: 'Suspend',
  suspendText: 'Everybody of {{name}} and all its keys are refused at once.',
  reactivate: 'Reactivate',
  reprocess: 'Process again',
  feedback: 'Feedback',
  markDone: 'Mark as done',
  markOpen: 'Open again',
};
