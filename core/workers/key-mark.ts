import type { Db } from '../platform/database/db.ts';
import type { Cipher } from '../platform/encryption.ts';
import { StartError } from '../platform/run-main.ts';
import { KEY_LOCK } from './members.ts';

/** Tells an ENCRYPTION_KEY from others, in 31 bits of a digest. Workers hold it as a lock, where operators' commands see it. */
export function keyMark(cipher: Pick<Cipher, 'digest'>): number {
  return cipher.digest('key of the workers', '').readUInt32BE() >>> 1;
}

/**
 * Throws a StartError unless the running workers seal with the key of this mark, and no other: values that are sealed with a mistyped one
 * open nowhere. A worker of the release before tells no key, and is passed over.
 */
export async function requireKeyOfWorkers(db: Db, mark: number): Promise<void> {
  const { rows } = await db.query<{ name: string; mark: number }>(
    `SELECT w.name, l.objid AS mark FROM workers w JOIN pg_locks l ON l.pid = w.backend_pid
     WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid = ${KEY_LOCK}
       AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
     ORDER BY w.id`,
  );
  const other = rows.find((row) => row.mark !== mark);
  if (other)
    throw new StartError(
      `${other.name} seals with another ENCRYPTION_KEY than this one: nothing was sealed. Mind a mistyped key, and restart all roles with the new one first`,
    );
  if (rows.length === 0)
    throw new StartError(
      'no running worker seals with this ENCRYPTION_KEY: nothing was sealed. Start one with it first, which shows that it is not mistyped',
    );
}
