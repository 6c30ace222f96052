import type { Db, Sql } from '../platform/database/db.ts';
import { type Lease, underLease } from './lock-leases.ts';

/** Shows the QR that the network gave; a newer one takes its place. */
export async function showQr(sql: Sql, instanceId: string, qr: string, expiresAt: Date): Promise<void> {
  await sql.query(
    `INSERT INTO instance_pairings (instance_id, company_id, qr, qr_expires_at)
     SELECT id, company_id, $2, $3 FROM instances WHERE id = $1
     ON CONFLICT (instance_id) DO UPDATE SET qr = excluded.qr, qr_expires_at = excluded.qr_expires_at`,
    [instanceId, qr, expiresAt],
  );
}

/** Removes the QR of a session that has ended: nobody can pair with it any more. Throws LeaseLost. */
export async function hideQr(db: Db, instance: { id: string; lease: Lease }): Promise<void> {
  await underLease(db, instance.lease, (client) =>
    client.query(
      'UPDATE instance_pairings SET qr = NULL, qr_expires_at = NULL WHERE instance_id = $1 AND qr IS NOT NULL',
      [instance.id],
    ),
  );
}

/** Nothing is left to scan or to type: paired, or given up. Throws LeaseLost. */
export async function endPairing(db: Db, instance: { id: string; lease: Lease }): Promise<void> {
  await underLease(db, instance.lease, (client) =>
    client.query('DELETE FROM instance_pairings WHERE instance_id = $1', [instance.id]),
  );
}

/** Answers a request for a pairing code with the code, or with why there is none. Throws LeaseLost. */
export async function answerPairingCode(
  db: Db,
  instance: { id: string; lease: Lease },
  phone: string,
  answer: { code: string } | { error: string },
): Promise<void> {
  await underLease(db, instance.lease, (client) =>
    client.query(
      `UPDATE instance_pairings SET code = $3, code_error = $4 WHERE instance_id = $1 AND code_phone = $2`,
      [instance.id, phone, 'code' in answer ? answer.code : null, 'error' in answer ? answer.error : null],
    ),
  );
}
