/** The network's media over HTTP: drivers upload with their token, and anyone with a handle downloads. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { World } from '../state/world.ts';
import type { Guard } from './guard.ts';

export const CDN_PATH = '/cdn/';

/**
 * `POST /cdn/` stores the body and answers `{handle, size_bytes, sha256}`; `GET /cdn/{handle}` returns the
 * media.
 */
export async function serveCdn(
  { world, guard }: { world: World; guard: Guard },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    if (guard.refuseOrigin(request) !== null) return answer(response, 403, 'foreign_origin');
    if (request.method === 'POST') await store(world, request, response);
    else await give(world, request, response);
  } catch (error) {
    world.log.debug({ err: error }, 'sandbox media transfer failed');
    if (response.headersSent) response.destroy();
    else if (error instanceof Error && error.message === 'too_large') answer(response, 413, 'too_large');
    else answer(response, 500, 'transfer_failed');
  }
}

async function store(world: World, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
  if (!token || !world.accountsByToken.has(token)) return answer(response, 401, 'not_paired');
  const stored = await world.cdn.receive(request);
  response.writeHead(201, { 'content-type': 'application/json' });
  response.end(JSON.stringify(stored));
}

/** With an account's token, media faults on that account apply. */
async function give(world: World, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const handle = new URL(request.url ?? '', 'http://sandbox').pathname.slice(CDN_PATH.length);
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
  const account = token === undefined ? undefined : world.accountsByToken.get(token);
  const found = world.cdn.open(handle);
  if (!found) return answer(response, 404, 'media_not_found');
  if (account && world.faults.expiresMedia(account.phone)) {
    found.stream.destroy();
    return answer(response, 410, 'media_expired');
  }
  const broken = account && world.faults.breaksMedia(account.phone);
  if (broken === 'error') {
    found.stream.destroy();
    return answer(response, 500, 'media_broken');
  }
  response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'content-length': found.sizeBytes,
  });
  if (!broken) return pipeline(found.stream, response);
  found.stream.destroy();
  response.write(Buffer.alloc(Math.floor(found.sizeBytes / 2)));
  if (broken === 'cut') setTimeout(() => response.destroy(), 20);
}

function answer(response: ServerResponse, status: number, code: string) {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify({ error_code: code, message: code }));
}
