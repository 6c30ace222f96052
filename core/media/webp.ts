/** The animation bit of an extended WebP (RIFF: `VP8X`, flags at byte 20). */
export function isAnimatedWebp(head: Uint8Array): boolean {
  return isWebp(head) && fourCc(head, 12) === 'VP8X' && (head[20]! & 0x02) !== 0;
}

/** Also true for one that is cut off: see {@link isWholeWebp}. */
function isWebp(head: Uint8Array): boolean {
  return head.length >= 21 && fourCc(head, 0) === 'RIFF' && fourCc(head, 8) === 'WEBP';
}

/** Whether the file holds as many bytes as its head says. */
export function isWholeWebp(head: Uint8Array, sizeBytes: number): boolean {
  if (!isWebp(head)) return false;
  const riffBytes = new DataView(head.buffer, head.byteOffset, head.byteLength).getUint32(4, true);
  return riffBytes + 8 <= sizeBytes;
}

function fourCc(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4));
}
