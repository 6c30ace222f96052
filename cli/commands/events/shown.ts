import { printable } from '../../format.ts';

interface ShownEvent {
  event_id: string;
  type: string;
  created_at: string;
  data: unknown;
}

/** One line: when, what, and what it says. */
export function shownEvent({ created_at, type, event_id, data }: ShownEvent): string {
  return `${printable(created_at)}  ${printable(type)}  ${printable(event_id)}  ${printable(data)}`;
}
