import { generate } from 'lean-qr';

/** Width of the light border, without which phones do not find the code. */
const MARGIN = 2;

/**
 * A QR code as lines of half blocks, two rows of modules each. `ink` says which modules the blocks are: the dark ones,
 * to be printed black on white, or the light ones, for a dark terminal without colours.
 */
export function drawQr(text: string, ink: 'dark' | 'light'): string[] {
  const code = generate(text);
  const end = code.size + MARGIN;
  // Modules outside of the code are light.
  const isInked = (row: number, column: number) => code.get(column, row) === (ink === 'dark');
  const lines: string[] = [];
  for (let row = -MARGIN; row < end; row += 2) {
    let line = '';
    for (let column = -MARGIN; column < end; column += 1) {
      // Below the last row there is none.
      const isLower = row + 1 < end && isInked(row + 1, column);
      line += block(isInked(row, column), isLower);
    }
    lines.push(line);
  }
  return lines;
}

function block(upper: boolean, lower: boolean): string {
  if (upper) return lower ? '█' : '▀';
  return lower ? '▄' : ' ';
}
