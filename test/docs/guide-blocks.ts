/** A fenced block of a guide, with the instructions of the comment above it. */
export interface Block {
  language: 'sh' | 'js' | 'ts';
  code: string;
  /** The number of the block's first line. */
  line: number;
  /** The file name under which this program is saved, for a later block to run. */
  file: string | null;
  /** It keeps running; the next block begins when its output matches. */
  until: RegExp | null;
  /** It begins when the earlier output matches. */
  after: RegExp | null;
  /** The reason why it is not run. */
  notRun: string | null;
}

const FENCE = /^```(\w*)\n([\s\S]*?)^```$/gm;
const COMMENT = /<!-- (file|goes on until|once shown|not run): (.+) -->\n$/;

/** The blocks of commands and programs in a guide, in order. Blocks in other languages are only shown. */
export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(FENCE)].flatMap(({ 1: language = '', 2: code = '', index }) => {
    if (language !== 'sh' && language !== 'js' && language !== 'ts') return [];
    const [, kind, text = ''] = COMMENT.exec(markdown.slice(0, index)) ?? [];
    return {
      language,
      code,
      line: markdown.slice(0, index).split('\n').length + 1,
      file: kind === 'file' ? text : null,
      until: kind === 'goes on until' ? new RegExp(text) : null,
      after: kind === 'once shown' ? new RegExp(text) : null,
      notRun: kind === 'not run' ? text : null,
    };
  });
}
