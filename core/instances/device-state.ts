/** What the devices of an account share, as far as one instance has it stored: labels, states of chats, contacts. */
import type { Jid } from '@posthorn/contract/jid.ts';
import { ADVISORY_LOCKS } from '../platform/advisory-locks.ts';
import type { Db, Sql } from '../platform/db.ts';
import { type Lease, underLease } from './hold-leases.ts';

/** Until the end of the transaction nobody else changes the labels of this instance. */
export async function lockDeviceState(sql: Sql, instanceId: string): Promise<void> {
  await sql.query('SELECT pg_advisory_xact_lock($1, $2)', [
    ADVISORY_LOCKS.deviceState,
    Number.parseInt(instanceId.slice(-8), 16) | 0,
  ]);
}

/**
 * A pairing begins: what is stored of another account's devices goes, and a new history may come. Chats and contacts
 * that came from traffic stay, as their messages do. Throws LeaseLost.
 */
export async function beginDeviceSync(
  db: Db,
  instance: { id: string; lease: Lease },
  accountJid: Jid,
  now: Date,
): Promise<void> {
  await underLease(db, instance.lease, async (sql) => {
    await lockDeviceState(sql, instance.id);
    const former = await sql.query<{ account_jid: string }>(
      'SELECT account_jid FROM device_syncs WHERE instance_id = $1',
      [instance.id],
    );
    if (former.rows[0] && former.rows[0].account_jid !== accountJid) await forgetAccount(sql, instance.id);
    await sql.query('UPDATE chats SET has_history = false WHERE instance_id = $1 AND has_history', [
      instance.id,
    ]);
    await sql.query(
      `INSERT INTO device_syncs (instance_id, company_id, account_jid, updated_at)
       SELECT id, company_id, $2, $3 FROM instances WHERE id = $1
       ON CONFLICT (instance_id) DO UPDATE SET account_jid = excluded.account_jid, chats = 0, contacts = 0,
         messages = 0, finished_at = NULL, updated_at = excluded.updated_at`,
      [instance.id, accountJid, now],
    );
  });
}

async function forgetAccount(sql: Sql, instanceId: string): Promise<void> {
  await sql.query('DELETE FROM labels WHERE instance_id = $1', [instanceId]);
  await sql.query('DELETE FROM label_links WHERE instance_id = $1', [instanceId]);
  await sql.query(
    `UPDATE chats SET unread_count = 0, marked_unread = false, archived = false, pinned = false, muted_until = NULL,
       read_revision = 0, archived_revision = 0, pinned_revision = 0, muted_revision = 0, read_echo_revision = 0
     WHERE instance_id = $1`,
    [instanceId],
  );
  await sql.query(
    `UPDATE contacts SET name = '', blocked = false, name_revision = 0, blocked_revision = 0 WHERE instance_id = $1`,
    [instanceId],
  );
}

/** Removes all of it, with the notes, for an instance that is deleted. */
export async function removeDeviceState(sql: Sql, instanceId: string): Promise<void> {
  for (const table of ['labels', 'label_links', 'chat_notes', 'chats', 'contacts', 'device_syncs']) {
    await sql.query(`DELETE FROM ${table} WHERE instance_id = $1`, [instanceId]);
  }
}
