import type { Db } from '../platform/database/db.ts';
import type { Cipher } from '../platform/encryption.ts';
import { StartError } from '../platform/run-main.ts';
import { KEY_LOCK } from './members.ts';

const PURPOSE = 'key of the workers';

/** Tells an ENCRYPTION_KEY from others, in 31 bits of a digest. Workers hold it as a lock, where others see it. */
export function keyMark(cipher: Pick<Cipher, 'digest'>): number {
  return toMark(cipher.digest(PURPOSE, ''));
}

function toMark(digest: Buffer): number {
  return digest.readUInt32BE() >>> 1;
}

/** The running workers that tell their key, which one of the release before does not. */
async function readKeys(db: Db): Promise<{ name: string; mark: number }[]> {
  const { rows } = await db.query<{ name: string; mark: number }>(
    `SELECT w.name, l.objid AS mark FROM workers w JOIN pg_locks l ON l.pid = w.backend_pid
     WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid = ${KEY_LOCK}
       AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
     ORDER BY w.id`,
  );
  return rows;
}

/**
 * Throws a StartError if a running worker seals with a key that `cipher` does not accept: its ENCRYPTION_KEY is mistyped, or its database
 * is another installation's. It would take shards whose sessions it cannot open, and use up attempts of webhooks whose secrets it cannot read.
 */
export async function requireAcceptedKeys(db: Db, cipher: Pick<Cipher, 'digests'>): Promise<void> {
  const accepted = new Set(cipher.digests(PURPOSE, '').map(toMark));
  const other = (await readKeys(db)).find(({ mark }) => !accepted.has(mark));
  if (other)
    throw new StartError(
      `ENCRYPTION_KEY: ${other.name} works on the same database with a key that is not accepted here. Mind a mistyped key, and the DATABASE_URL of another installation; after the loss of a key stop all workers first`,
    );
}

/**
 * Throws a StartError unless the running workers seal with the key of this mark, and no other: values that are sealed with a mistyped one
 * open nowhere.
 */
export async function requireKeyOfWorkers(db: Db, mark: number): Promise<void> {
  const keys = await readKeys(db);
  const other = keys.find((key) => key.mark !== mark);
  if (other)
    throw new StartError(
      `${other.name} seals with another ENCRYPTION_KEY than this one: nothing was sealed. Mind a mistyped key, and restart all roles with the new one first`,
    );
  if (keys.length === 0)
    throw new StartError(
      'no running worker seals with this ENCRYPTION_KEY: nothing was sealed. Start one with it first, which shows that it is not mistyped',
    );
}
