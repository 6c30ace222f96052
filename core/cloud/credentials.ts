import type { Sql } from '../platform/database/db.ts';
import type { Cipher } from '../platform/encryption.ts';
import { isUuid } from '../platform/ids.ts';

/** The driver whose instances take these. */
export const CLOUD_DRIVER = 'whatsapp-cloud';

/** The value sealed in `instances.credentials`; the driver reads it too (network/whatsapp-cloud/credentials.ts). */
export interface CloudCredentials {
  phone_number_id: string;
  business_account_id: string;
  access_token: string;
  app_secret: string;
  /** Drawn by us; Meta repeats it when it makes sure of our address. */
  verify_token: string;
  /** The number itself, digits only. */
  phone: string;
}

/** The credentials of an instance, for checking what claims to come from Meta; null without any. */
export async function readCredentials(
  deps: { db: Sql; cipher: Cipher },
  instanceId: string,
): Promise<{ companyId: number; credentials: CloudCredentials } | null> {
  if (!isUuid(instanceId)) return null;
  const { rows } = await deps.db.query<{ company_id: number; credentials: Buffer }>({
    name: 'instances-cloud-credentials',
    text: `SELECT company_id, credentials FROM instances
           WHERE id = $1 AND driver = $2 AND credentials IS NOT NULL`,
    values: [instanceId, CLOUD_DRIVER],
  });
  const [row] = rows;
  if (!row) return null;
  return { companyId: row.company_id, credentials: deps.cipher.open<CloudCredentials>(row.credentials) };
}
