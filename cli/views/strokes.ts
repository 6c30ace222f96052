import type { Key } from 'ink';

/** One press of a key, or text that was typed. */
export type Stroke =
  | { kind: 'text'; text: string }
  | { kind: 'ctrl'; letter: string }
  | { kind: 'up' | 'down' | 'left' | 'pageUp' | 'pageDown' | 'enter' | 'escape' | 'backspace' };

const TEXT_OR_CONTROL = /[^\p{Cc}]+|\p{Cc}/gu;
const CONTROL = /\p{Cc}/u;

/**
 * The strokes of one input, in their order. Several strokes arrive as one input when a user types fast or the machine
 * is slow: `webhook.test` and Enter arrive as `webhook.test\r`.
 */
export function strokesOf(input: string, key: Key): Stroke[] {
  if (key.upArrow) return [{ kind: 'up' }];
  if (key.downArrow) return [{ kind: 'down' }];
  if (key.leftArrow) return [{ kind: 'left' }];
  if (key.pageUp) return [{ kind: 'pageUp' }];
  if (key.pageDown) return [{ kind: 'pageDown' }];
  if (key.return) return [{ kind: 'enter' }];
  if (key.escape) return [{ kind: 'escape' }];
  if (key.backspace || key.delete) return [{ kind: 'backspace' }];
  if (key.ctrl) return [{ kind: 'ctrl', letter: input }];
  if (key.meta) return [];
  return (input.match(TEXT_OR_CONTROL) ?? []).flatMap((part) => strokeOf(part));
}

function strokeOf(part: string): Stroke[] {
  if (part === '\r' || part === '\n') return [{ kind: 'enter' }];
  if (!CONTROL.test(part)) return [{ kind: 'text', text: part }];
  const code = part.charCodeAt(0);
  return code >= 1 && code <= 26 ? [{ kind: 'ctrl', letter: String.fromCharCode(code + 96) }] : [];
}
