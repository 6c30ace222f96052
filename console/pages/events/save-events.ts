import type { ListedEvent } from '@posthorn/sdk/index.ts';

/** Saves events as a file with one of them a line, the oldest first. */
export function saveEvents(events: readonly ListedEvent[]): void {
  const lines = [...events].reverse().map((event) => `${JSON.stringify(event)}\n`);
  const url = URL.createObjectURL(new Blob(lines, { type: 'application/x-ndjson' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = 'events.ndjson';
  link.click();
  URL.revokeObjectURL(url);
}
