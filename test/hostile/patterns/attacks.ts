import { type Node, parsePattern, textsFor } from './parse-pattern.ts';

/** A text for which a pattern with two ways through the same text tries all of them. */
export interface Attack {
  /** Brings the matcher to the part that is attacked. */
  prefix: string;
  /** Repeated up to the length of the attack. */
  pump: string;
  /** Makes the match fail in the end. */
  tail: string;
}

const TAILS = ['', '\0', '\n!', ' x', '<'];
const ATTACKS_MAX = 1_500;

/** Attacks made of the pattern's own pieces: each piece, and each pair of them, again and again. */
export function attacksOn(source: string, flags: string): Attack[] {
  const root = parsePattern(source, flags);
  const attacks = new Map<string, Attack>();
  const add = (prefix: string, pump: string) => {
    if (pump === '' || prefix.length + pump.length > 1_000) return;
    for (const tail of TAILS) attacks.set(JSON.stringify([prefix, pump, tail]), { prefix, pump, tail });
  };
  const pieces = new Set<string>();
  const repeats: { prefix: string; pumps: string[] }[] = [];
  visit(root, '', (node, prefix) => {
    const texts = textsFor(node);
    for (const text of texts.slice(0, 3)) pieces.add(text);
    if (node.kind === 'repeat' && node.max > 16) repeats.push({ prefix, pumps: textsFor(node.of) });
  });
  // Repeating parts come first, so that a cut of the list drops others.
  for (const { prefix, pumps } of repeats) for (const pump of pumps) add(prefix, pump);
  // Not from the start of the text: there an anchored alternative would match everything.
  for (const { pumps } of repeats)
    for (const pump of pumps) for (const start of ['', '\x01']) add(start, pump);
  for (const text of textsFor(root)) add('', text);
  const some = [...pieces].filter((piece) => piece !== '').slice(0, 14);
  for (const piece of some) add('', piece);
  for (const { prefix } of repeats.slice(0, 4)) for (const piece of some) add(prefix, piece);
  for (const one of some) for (const other of some) if (one !== other) add('', one + other);
  return [...attacks.values()].slice(0, ATTACKS_MAX);
}

/** Visits every node with a text that leads up to it. */
function visit(node: Node, prefix: string, look: (node: Node, prefix: string) => void): void {
  look(node, prefix);
  if (node.kind === 'repeat') visit(node.of, prefix, look);
  else if (node.kind === 'choice') for (const option of node.options) visit(option, prefix, look);
  else if (node.kind === 'sequence') {
    let before = prefix;
    for (const item of node.items) {
      visit(item, before, look);
      before += textsFor(item)[0] ?? '';
    }
  }
}

export function textOf({ prefix, pump, tail }: Attack, chars: number): string {
  const times = Math.max(1, Math.floor((chars - prefix.length - tail.length) / pump.length));
  return prefix + pump.repeat(times) + tail;
}
