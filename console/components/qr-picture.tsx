import { correction, generate } from 'lean-qr';
import { useMemo } from 'react';

/** Empty cells around the code, which readers need. */
const MARGIN = 4;

/** A text as a QR code: black on white in both themes, as cameras expect it. */
export function QrPicture({ text, size, label }: { text: string; size: number; label: string }) {
  const { side, path } = useMemo(() => draw(text), [text]);
  return (
    <svg
      width={size}
      height={size}
      viewBox={`0 0 ${side} ${side}`}
      role="img"
      aria-label={label}
      shapeRendering="crispEdges"
      data-qr={text}
    >
      <rect width={side} height={side} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}

function draw(text: string): { side: number; path: string } {
  const code = generate(text, { minCorrectionLevel: correction.M });
  const cells: string[] = [];
  for (let y = 0; y < code.size; y += 1)
    for (let x = 0; x < code.size; x += 1)
      if (code.get(x, y)) cells.push(`M${x + MARGIN} ${y + MARGIN}h1v1h-1z`);
  return { side: code.size + 2 * MARGIN, path: cells.join('') };
}
