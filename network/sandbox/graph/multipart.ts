/** The file of a multipart body, with its type; throws for a body that is none. */
export function readMultipart(contentType: string, body: Buffer): { bytes: Buffer; mimeType: string } {
  const boundary = /boundary=([^;]+)/.exec(contentType)?.[1];
  if (!boundary) throw new Error('no boundary');
  for (let from = body.indexOf(`--${boundary}`); from >= 0; ) {
    const next = body.indexOf(`--${boundary}`, from + boundary.length + 2);
    if (next < 0) break;
    const head = body.indexOf('\r\n\r\n', from);
    const headers = body.subarray(from, head).toString();
    if (/name="file"/.test(headers)) {
      const mimeType = /content-type: ([^\r\n]+)/i.exec(headers)?.[1] ?? 'application/octet-stream';
      return { bytes: Buffer.from(body.subarray(head + 4, next - 2)), mimeType };
    }
    from = next;
  }
  throw new Error('no file');
}
