import { printable } from '../format.ts';

/** JSON over several lines; any other text unchanged. No character in it moves the cursor. */
export function prettyJson(value: unknown): string {
  return written(value)
    .split('\n')
    .map((line) => (line === '' ? '' : printable(line)))
    .join('\n');
}

function written(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value, null, 2);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}
