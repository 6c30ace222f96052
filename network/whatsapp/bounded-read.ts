import type { IncomingMessage } from 'node:http';

/** The whole body of an answer. Throws if it has more bytes than that; `what` names the answer in the error. */
export async function readAtMost(response: IncomingMessage, maxBytes: number, what: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error(`${what} is too large`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
