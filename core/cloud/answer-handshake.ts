import { timingSafeEqual } from 'node:crypto';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { Sql } from '../platform/database/db.ts';
import type { Cipher } from '../platform/encryption.ts';
import { readCredentials } from './credentials.ts';

type Query = Readonly<Record<string, unknown>>;

/**
 * The challenge, for Meta's unsigned question whether the address is ours. 401 UNAUTHORIZED for another verify
 * token, 404 INSTANCE_NOT_FOUND for an instance without credentials.
 */
export async function answerHandshake(
  deps: { db: Sql; cipher: Cipher },
  { instanceId, query }: { instanceId: string; query: Query },
): Promise<string> {
  const { 'hub.mode': mode, 'hub.challenge': challenge, 'hub.verify_token': token } = query;
  const known = await readCredentials(deps, instanceId);
  if (!known) throw apiError('INSTANCE_NOT_FOUND');
  const isOurs = typeof token === 'string' && isSame(token, known.credentials.verify_token);
  if (!isOurs || mode !== 'subscribe' || typeof challenge !== 'string') throw apiError('UNAUTHORIZED');
  return challenge;
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
