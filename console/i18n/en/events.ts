export const events = {
  title: 'Events',
  event: 'Event',
  type: 'Type',
  what: 'Data',
  types: 'Types: names or patterns, separated by commas',
  download: 'Download',
  pause: 'Pause',
  resume: 'Go on',
  running_one: 'Live. {{count}} is shown, 500 at most.',
  running_other: 'Live. {{count}} are shown, 500 at most.',
  paused: 'Paused. "Go on" shows the events since then.',
  empty: 'There is no event yet. New events show here by themselves.',
};
