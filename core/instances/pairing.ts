import type { Sql } from '../platform/db.ts';

/** Shows the QR that the network gave; a newer one takes its place. */
export async function showQr(sql: Sql, instanceId: string, qr: string, expiresAt: Date): Promise<void> {
  await sql.query(
    `INSERT INTO instance_pairings (instance_id, company_id, qr, qr_expires_at)
     SELECT id, company_id, $2, $3 FROM instances WHERE id = $1
     ON CONFLICT (instance_id) DO UPDATE SET qr = excluded.qr, qr_expires_at = excluded.qr_expires_at`,
    [instanceId, qr, expiresAt],
  );
}

/** Nothing is left to scan or to type: paired, or given up. */
export async function endPairing(sql: Sql, instanceId: string): Promise<void> {
  await sql.query('DELETE FROM instance_pairings WHERE instance_id = $1', [instanceId]);
}

/** Answers a request for a pairing code with the code, or with why there is none. */
export async function answerPairingCode(
  sql: Sql,
  instanceId: string,
  phone: string,
  answer: { code: string } | { error: string },
): Promise<void> {
  await sql.query(
    `UPDATE instance_pairings SET code = $3, code_error = $4 WHERE instance_id = $1 AND code_phone = $2`,
    [instanceId, phone, 'code' in answer ? answer.code : null, 'error' in answer ? answer.error : null],
  );
}
