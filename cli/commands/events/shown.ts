import { fitLine, printable } from '../../format.ts';

interface ShownEvent {
  event_id: string;
  type: string;
  created_at: string;
  data: unknown;
}

/**
 * One line: time, type and data. On a terminal it is cut to the width and its data begins with the part that differs
 * between events; a pipe gets all of it.
 */
export function shownEvent(
  { created_at, type, event_id, data }: ShownEvent,
  columns: number | null = null,
): string {
  if (columns !== null)
    return fitLine(`${printable(created_at.slice(11, 23))}  ${printable(type)}  ${told(data)}`, columns);
  return `${printable(created_at)}  ${printable(type)}  ${printable(event_id)}  ${printable(data)}`;
}

/** Puts the person and the text first; leaves out what the type says already, and empty and false fields. */
function told(data: unknown): string {
  if (typeof data !== 'object' || data === null) return printable(data);
  const {
    phone,
    chat,
    from,
    content,
    message_type: _,
    timestamp: __,
    ...rest
  } = data as Record<string, unknown>;
  const who = [phone, chat, from].find((each) => typeof each === 'string' && each !== '');
  const text = (content as { text?: unknown } | null | undefined)?.text;
  const others = Object.entries(rest).filter(
    ([, value]) => ![null, undefined, '', false].includes(value as null),
  );
  return [
    ...(who === undefined ? [] : [printable(who)]),
    ...(content === undefined || content === null ? [] : [printable(text ?? content)]),
    ...others.map(([name, value]) => `${name}=${printable(value)}`),
  ].join('  ');
}
