import { setTimeout as delay } from 'node:timers/promises';
import { ACCOUNT_RETENTION_DAYS } from '@posthorn/contract/limits.ts';
import type { BillingClient } from '../accounts/company/billing-client.ts';
import { markCompanyDeleted } from '../accounts/company/mark-company-deleted.ts';
import { purgeCompany } from '../accounts/company/purge-company.ts';
import { objectsOf } from '../media/storage-key.ts';
import type { Db } from '../platform/database/db.ts';
import { DAY_MS } from '../platform/durations.ts';
import type { Log } from '../platform/process/log.ts';
import { StartError, withCauses } from '../platform/run-main.ts';
import { type Storage, StorageMissing } from '../platform/storage/storage.ts';
import { storedObjects } from './export-company.ts';
import { rowsLeft } from './tenant-tables.ts';

export interface EraseDeps {
  db: Db;
  storage: Storage | null;
  /** Null: there is nothing to cancel, or billing is not reached from here. */
  billing: BillingClient | null;
  /** Removes what billing keeps of companies that messaging no longer has. */
  purgeBilling(): Promise<unknown>;
  now: Date;
  log: Log;
  /** How long the workers get to end the sessions. Default 30 s. */
  sessionsMs?: number;
}

export interface Erasure {
  cancelledSubscriptions: number;
  /** Objects that were removed from the storage. */
  objects: number;
  /** Rows that are still there, by table; empty when all is erased. */
  rowsLeft: Record<string, number>;
  /** Objects that are still in the storage. */
  objectsLeft: string[];
  /**
   * Uploads that were still under way. A file that one of them stores later is removed too, within a day at the latest.
   */
  uploads: number;
}

const ROUNDS = 10;
const ROUND_MS = 500;
/** Workers find by themselves within this time that the instance of a session is gone. They record until then. */
const OPEN_SESSIONS_ROUND_MS = 6_000;

/**
 * Erases a company at once, in place of 30 days after its deletion (ACC-26): cancels its subscriptions, blocks it and
 * ends its sessions, and removes its rows from every table of messaging and billing and its media from the storage.
 * Then it reads all of them again, and a further round removes anything that a worker was still writing. Two things of
 * the company stay: the keyed digest of a document whose trial was used, and backups. Throws StartError for company 1
 * and for one that does not exist.
 */
export async function eraseCompany(deps: EraseDeps, companyId: number): Promise<Erasure> {
  const { db } = deps;
  if (companyId === 1) throw new StartError('company 1 is the platform: it cannot be erased');
  const { rows } = await db.query<{ status: string }>('SELECT status FROM companies WHERE id = $1', [
    companyId,
  ]);
  const known = rows[0];
  // An interrupted erasure continues, even when the company's own row is gone.
  if (
    !known &&
    Object.keys(await rowsLeft(db, companyId)).length + (await notedObjects(db, companyId)).length === 0
  )
    throw new StartError(`there is no company ${companyId}`);
  const cancelledSubscriptions = deps.billing ? await cancelSubscriptions(deps.billing, companyId) : 0;
  let areClosed = true;
  if (known) {
    await markCompanyDeleted(db, { companyId, by: null, traceId: null, at: deps.now });
    // The time of deletion is set as if its 30 days were over: if this process ends early, the workers' purge job
    // continues.
    await db.query('UPDATE companies SET deleted_at = $2 WHERE id = $1', [
      companyId,
      new Date(deps.now.getTime() - ACCOUNT_RETENTION_DAYS * DAY_MS),
    ]);
    areClosed = await waitForSessions(deps, companyId);
  }
  const keys = new Set<string>();
  let left: Record<string, number> = {};
  let noted: NotedObject[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const { key } of await storedObjects(db, companyId)) keys.add(key);
    await purgeCompany({ db }, companyId);
    await deps.purgeBilling();
    await removeObjects(deps, companyId, keys);
    // A worker may have been recording: what comes late is seen by the next look.
    await delay(areClosed ? ROUND_MS : OPEN_SESSIONS_ROUND_MS);
    left = await rowsLeft(db, companyId);
    noted = await notedObjects(db, companyId);
    if (Object.keys(left).length + noted.length === 0) break;
  }
  const objectsLeft = await stillStored(deps.storage, [...keys]);
  return {
    cancelledSubscriptions,
    objects: keys.size - objectsLeft.length,
    rowsLeft: left,
    objectsLeft,
    uploads: deps.storage ? noted.length : 0,
  };
}

async function cancelSubscriptions(billing: BillingClient, companyId: number): Promise<number> {
  try {
    return await billing.cancelSubscriptions({ companyId, traceId: null });
  } catch (cause) {
    throw new StartError(
      `billing did not cancel the subscriptions of company ${companyId}, so nothing was erased: ${withCauses(cause)}`,
      { cause },
    );
  }
}

/** Workers log the instances out at their networks. False: one could not in time, and its rows go all the same. */
async function waitForSessions(
  { db, log, sessionsMs = 30_000 }: EraseDeps,
  companyId: number,
): Promise<boolean> {
  const untilMs = performance.now() + sessionsMs;
  for (;;) {
    const { rows } = await db.query<{ count: number }>(
      `SELECT count(*) AS count FROM instances
       WHERE company_id = $1 AND (state IN ('CONNECTED', 'PAIRING') OR credentials IS NOT NULL)`,
      [companyId],
    );
    if (rows[0]!.count === 0) return true;
    if (performance.now() >= untilMs) {
      log.warn({ company_id: companyId, instances: rows[0]!.count }, 'no worker logged these instances out');
      return false;
    }
    await delay(ROUND_MS);
  }
}

interface NotedObject {
  key: string;
  /** Noted ahead of an upload that has not ended. */
  isAhead: boolean;
}

/** The notes of objects that are to leave the storage, or that are being uploaded. */
async function notedObjects(db: Db, companyId: number): Promise<NotedObject[]> {
  const { rows } = await db.query<{ key: string; ahead: boolean }>(
    `SELECT storage_key AS key, due_at > '-infinity' AS ahead FROM media_trash WHERE starts_with(storage_key, $1)`,
    [objectsOf(companyId)],
  );
  return rows.map(({ key, ahead }) => ({ key, isAhead: ahead }));
}

/**
 * From the storage, and from the notes that would let the clean-up job do it later: `keys`, to which it adds what an interrupted
 * erasure or a deletion has noted. The note of an upload under way stays, since its object may come yet: whoever uploads it removes
 * both, else the clean-up job does.
 */
async function removeObjects(
  { db, storage }: EraseDeps,
  companyId: number,
  keys: Set<string>,
): Promise<void> {
  const noted = await notedObjects(db, companyId);
  for (const { key } of noted) keys.add(key);
  if (!storage) return;
  const uploads = new Set(noted.filter(({ isAhead }) => isAhead).map(({ key }) => key));
  for (const key of keys) await storage.remove(key);
  await db.query('DELETE FROM media_trash WHERE storage_key = ANY ($1)', [
    [...keys].filter((key) => !uploads.has(key)),
  ]);
}

async function stillStored(storage: Storage | null, keys: readonly string[]): Promise<string[]> {
  if (!storage) return [...keys];
  const left: string[] = [];
  for (const key of keys) {
    try {
      (await storage.open(key)).destroy();
      left.push(key);
    } catch (err) {
      if (!(err instanceof StorageMissing)) throw err;
    }
  }
  return left;
}
