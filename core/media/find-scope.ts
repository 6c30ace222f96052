import { apiError } from '@posthorn/contract/api-error.ts';
import { findInstanceScope } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Sql } from '../platform/database/db.ts';
import type { MediaScope } from './media-port.ts';

/** The instance within the caller's reach. The media routes answer 404 NOT_FOUND for an unknown and a foreign one (MED-10). */
export async function findScope(
  deps: { db: Sql },
  input: { principal: Principal; instanceId: string },
): Promise<MediaScope> {
  const scope = await findInstanceScope(deps.db, input.principal, input.instanceId);
  if (!scope) throw apiError('NOT_FOUND', { message: INSTANCE_NOT_FOUND });
  return scope;
}

export const INSTANCE_NOT_FOUND = 'instance not found';
