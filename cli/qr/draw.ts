import { create } from 'qrcode/lib/core/qrcode.js';

/** Light modules around the code, without which phones do not find it. */
const MARGIN = 2;

/**
 * A QR code as lines of half blocks, two rows of modules each. `ink` says which modules the blocks are: the dark ones,
 * to be printed black on white, or the light ones, for a dark terminal without colours.
 */
export function drawQr(text: string, ink: 'dark' | 'light'): string[] {
  const { size, data } = create(text, { errorCorrectionLevel: 'L' }).modules;
  const isInked = (row: number, column: number) => {
    const isInside = row >= 0 && row < size && column >= 0 && column < size;
    const isDark = isInside && data[row * size + column] === 1;
    return isDark === (ink === 'dark');
  };
  const lines: string[] = [];
  for (let row = -MARGIN; row < size + MARGIN; row += 2) {
    let line = '';
    for (let column = -MARGIN; column < size + MARGIN; column += 1) {
      // Below the last row there is none.
      const isLower = row + 1 < size + MARGIN && isInked(row + 1, column);
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
