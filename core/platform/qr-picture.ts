import { correction, generate } from 'lean-qr';
import { toPngBuffer } from 'lean-qr/extras/node_export';

const WHITE = [255, 255, 255] as const;

/** A QR code as a PNG, black on white; `maxWidthPx` wide or a little less, so that all modules have one size. */
export function drawQrPicture(text: string, options: { maxWidthPx: number; marginModules: number }): Buffer {
  const code = generate(text, { minCorrectionLevel: correction.M });
  const pad = options.marginModules;
  const scale = Math.max(1, Math.floor(options.maxWidthPx / (code.size + 2 * pad)));
  return Buffer.from(toPngBuffer(code, { off: WHITE, pad, scale }));
}
