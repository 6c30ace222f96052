import { apiError } from '@posthorn/contract/api-error.ts';
import type { Principal } from '../access/principal.ts';
import type { Sql } from '../platform/db.ts';
import type { MediaScope } from './media-port.ts';

/** The instance within reach of the caller. 404 NOT_FOUND for an unknown and a foreign one alike (MED-10). */
export async function findScope(
  { db }: { db: Sql },
  { principal, instanceId }: { principal: Principal; instanceId: string },
): Promise<MediaScope> {
  const found = await db.query<{ id: string; company_id: number }>({
    name: 'media-find-scope',
    text: 'SELECT id, company_id FROM instances WHERE id = $1 AND (company_id = $2 OR $3)',
    values: [instanceId, principal.companyId, principal.isSuperadmin],
  });
  const row = found.rows[0];
  if (!row) throw apiError('NOT_FOUND', { message: INSTANCE_NOT_FOUND });
  return { companyId: row.company_id, instanceId: row.id };
}

export const INSTANCE_NOT_FOUND = 'instance not found';
