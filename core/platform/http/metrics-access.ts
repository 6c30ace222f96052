import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isLocal } from './client-address.ts';

/** Whether a request may read /metrics. */
export type MetricsAccess = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => boolean;

/**
 * /metrics reveals how many companies use what, and what would hurt the process. With a token it is for whoever
 * sends `Authorization: Bearer <token>`; without one for this machine alone, and not through a proxy on it.
 */
export function createMetricsAccess(token: string | undefined): MetricsAccess {
  if (token === undefined) return isLocal;
  const wanted = digest(`Bearer ${token}`);
  return ({ headers }) => timingSafeEqual(digest(headers.authorization ?? ''), wanted);
}

/** A digest has one length, whatever the caller sent. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
