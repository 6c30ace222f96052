export const events = {
  title: 'Events',
  event: 'Event',
  type: 'Type',
  what: 'Data',
  types: 'Types: names or patterns, separated by commas',
  download: 'Download',
  pause: 'Pause',
  resume: 'Go on',
  running: 'Live. {{count}} are shown, 500 at most.',
  paused: 'Paused. Going on shows what happened meanwhile.',
  empty: 'Nothing has happened yet. What happens shows here by itself.',
};
