import { request } from 'node:http';

export interface Bare {
  status: number;
  headers: Record<string, unknown>;
  body: Buffer;
}

/** An answer as it comes over the wire: fetch would decompress it and follow redirects. */
export function bare(url: string, method: string, encoding: string): Promise<Bare> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers: { 'accept-encoding': encoding } }, (response) => {
      const { statusCode: status = 0, headers } = response;
      response.toArray().then((chunks) => resolve({ status, headers, body: Buffer.concat(chunks) }), reject);
    });
    asked.once('error', reject).end();
  });
}
