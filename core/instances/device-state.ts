/** The state that the devices of an account share, as stored for one instance: labels, states of chats, contacts. */
import type { Jid } from '@posthorn/contract/jid.ts';
import { ADVISORY_LOCKS } from '../platform/database/advisory-locks.ts';
import type { Db, Sql } from '../platform/database/db.ts';
import { type Lease, underLease } from './lock-leases.ts';

/**
 * Until the end of the transaction nobody else changes the labels of this instance, or several of its groups, which would
 * otherwise be locked in as many orders as there are to tell of them.
 */
export async function lockDeviceState(sql: Sql, instanceId: string): Promise<void> {
  await sql.query('SELECT pg_advisory_xact_lock($1, $2)', [
    ADVISORY_LOCKS.deviceState,
    Number.parseInt(instanceId.slice(-8), 16) | 0,
  ]);
}

/** The account that was paired last, also after its logout; null: none was. */
export async function formerAccount(sql: Sql, instanceId: string): Promise<string | null> {
  const { rows } = await sql.query<{ account_jid: string }>(
    'SELECT account_jid FROM device_syncs WHERE instance_id = $1',
    [instanceId],
  );
  return rows[0]?.account_jid ?? null;
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
    await sql.query(LOCK_CHATS, [instance.id]);
    const former = await formerAccount(sql, instance.id);
    if (former !== null && former !== accountJid) await forgetAccount(sql, instance.id);
    await sql.query(MAY_HAVE_HISTORY, [instance.id]);
    await sql.query(
      `INSERT INTO device_syncs (instance_id, company_id, account_jid, updated_at)
       SELECT id, company_id, $2, $3 FROM instances WHERE id = $1
       ON CONFLICT (instance_id) DO UPDATE SET account_jid = excluded.account_jid, chats = 0, contacts = 0,
         messages = 0, finished_at = NULL, updated_at = excluded.updated_at`,
      [instance.id, accountJid, now],
    );
  });
}

/** In the order of all recorders: what still arrives of the account that was paired before may hold some of them. */
const LOCK_CHATS =
  'SELECT 1 FROM chats WHERE instance_id = $1 ORDER BY chat_jid COLLATE "C" FOR NO KEY UPDATE';

const MAY_HAVE_HISTORY = 'UPDATE chats SET has_history = false WHERE instance_id = $1 AND has_history';

async function forgetAccount(sql: Sql, instanceId: string): Promise<void> {
  await sql.query('DELETE FROM labels WHERE instance_id = $1', [instanceId]);
  await sql.query('DELETE FROM label_links WHERE instance_id = $1', [instanceId]);
  await sql.query('DELETE FROM chats WHERE instance_id = $1 AND last_message_id IS NULL', [instanceId]);
  await sql.query(
    `UPDATE chats SET name = '', unread_count = 0, marked_unread = false, archived = false, pinned = false, muted_until = NULL,
       read_revision = 0, archived_revision = 0, pinned_revision = 0, muted_revision = 0, read_echo_revision = 0
     WHERE instance_id = $1`,
    [instanceId],
  );
  await sql.query(`DELETE FROM contacts WHERE instance_id = $1 AND push_name = ''`, [instanceId]);
  await sql.query(
    `UPDATE contacts SET name = '', blocked = false, name_revision = 0, blocked_revision = 0 WHERE instance_id = $1`,
    [instanceId],
  );
}

const TABLES = [
  'labels',
  'label_links',
  'chat_notes',
  'chats',
  'contacts',
  'device_syncs',
  'status_feed',
  'status_views',
  'scheduled_sends',
  'chat_guards',
  'chat_groups',
  'lids',
  'network_inbox',
  'work_tries',
  'session_keys',
];

/** Rows that one statement removes: the streams of all companies wait for the oldest transaction that writes. */
const BATCH = 5_000;

/** Removes all that is kept of an instance that was deleted, except its messages and media. Gives how many rows went. */
export async function removeRemains(db: Db, instanceId: string): Promise<number> {
  let removed = 0;
  for (const table of TABLES) {
    let gone: number;
    do {
      const { rowCount } = await db.query(
        `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE instance_id = $1 LIMIT ${BATCH}))`,
        [instanceId],
      );
      gone = rowCount ?? 0;
      removed += gone;
    } while (gone === BATCH);
  }
  return removed;
}

/**
 * Removes what a process left that ended while it deleted an instance, and what was written meanwhile: by a recorder that began
 * before and committed afterwards, or by the API, of which a process may have stood still.
 * It takes no lock for that on the rows of instances, which every batch of arrivals would pay for.
 */
export async function sweepDeviceState(db: Db): Promise<number> {
  const found = new Set<string>();
  for (const table of TABLES) {
    const { rows } = await db.query<{ instance_id: string }>(gone(table));
    for (const { instance_id } of rows) found.add(instance_id);
  }
  let removed = 0;
  for (const instanceId of found) removed += await removeRemains(db, instanceId);
  return removed;
}

/** The instances of a table that are there no longer: one probe of its index for each instance. */
function gone(table: string): string {
  return `WITH RECURSIVE held AS (
    (SELECT instance_id FROM ${table} ORDER BY instance_id LIMIT 1)
    UNION ALL
    SELECT (SELECT t.instance_id FROM ${table} t WHERE t.instance_id > held.instance_id
            ORDER BY t.instance_id LIMIT 1)
    FROM held WHERE held.instance_id IS NOT NULL
  )
  SELECT instance_id FROM held
  WHERE instance_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM instances i WHERE i.id = held.instance_id)`;
}
