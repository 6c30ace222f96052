/** A command line as completions know it. */
export interface CompletionNode {
  name: string;
  summary: string;
  commands: readonly CompletionNode[];
  /** In full, e.g. `--limit`. */
  flags: readonly { name: string; summary: string }[];
  /** The allowed values of its argument if they are a list. */
  words: readonly string[];
}

/** A place in the command line, `instances settings`, and what may follow there. */
export interface Place {
  at: string;
  next: readonly { word: string; summary: string }[];
}

/** Every place, the beginning (`''`) first. */
export function placesOf(root: CompletionNode): Place[] {
  const visit = (node: CompletionNode, at: string): Place[] => [
    {
      at,
      next: [
        ...node.commands.map(({ name, summary }) => ({ word: name, summary })),
        ...node.words.map((word) => ({ word, summary: '' })),
        ...node.flags.map(({ name, summary }) => ({ word: name, summary })),
      ],
    },
    ...node.commands.flatMap((child) => visit(child, at === '' ? child.name : `${at} ${child.name}`)),
  ];
  return visit(root, '');
}
