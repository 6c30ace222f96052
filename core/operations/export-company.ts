import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Db, Sql } from '../platform/database/db.ts';
import { FOLDER_FAULTS, StartError } from '../platform/run-main.ts';
import { type Storage, StorageMissing } from '../platform/storage/storage.ts';
import { type TenantTable, tenantTables } from './tenant-tables.ts';

export interface ExportedFile {
  /** From the folder of the export. */
  path: string;
  sizeBytes: number;
  sha256: string;
  /** Absent for a file that holds no table. */
  rows?: number;
}

/** The content of an export's `manifest.json`. */
export interface ExportManifest {
  companyId: number;
  exportedAt: string;
  files: ExportedFile[];
  /** Media whose object is not in the storage. */
  missingMedia: string[];
  /** Media that was deleted, or was past its time, while the export ran. */
  removedMedia: string[];
}

/** Rows of a table that has no column for the company. */
export interface ExportedRows {
  /** As the file is named. */
  name: string;
  rowsSql(companyId: number): string;
}

const FETCH = 1_000;
/** Secrets in columns of text: argon2id tells its parameters in its hash. */
const SECRET_TEXTS: ReadonlySet<string> = new Set(['users.password_hash']);

/**
 * Writes everything that is kept of a company into an empty folder: a file of JSON lines for each table with rows of it, all of one
 * moment, and the stored media and archives. Secrets are left out: sealed values and digests, which are bytes, and the hashes of
 * passwords. Throws StartError when there is no such company or the folder is not empty.
 */
export async function exportCompany(
  deps: { db: Db; storage: Storage | null; now: Date; others: readonly ExportedRows[] },
  { companyId, into }: { companyId: number; into: string },
): Promise<ExportManifest> {
  await usingFolder(into, async () => {
    await mkdir(into, { recursive: true, mode: 0o700 });
    if ((await readdir(into)).length > 0) throw new StartError(`${into} is not empty`);
  });
  const manifest: ExportManifest = {
    companyId,
    exportedAt: deps.now.toISOString(),
    files: [],
    missingMedia: [],
    removedMedia: [],
  };
  const keys: { id: string; key: string }[] = [];
  await deps.db.transaction(async (sql) => {
    // One moment for all tables; an export of millions of rows takes longer than a statement of a request may.
    await sql.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    await sql.query('SET LOCAL statement_timeout = 0');
    await sql.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    const { rowCount } = await sql.query('SELECT FROM companies WHERE id = $1', [companyId]);
    if (rowCount === 0) throw new StartError(`there is no company ${companyId}`);
    for (const table of await tenantTables(sql)) {
      if (table.isUnlogged) continue;
      const file = await exportRows(sql, rowsOf(table), { companyId, into });
      if (file) manifest.files.push(file);
    }
    for (const rows of deps.others) {
      const file = await exportRows(sql, rows, { companyId, into });
      if (file) manifest.files.push(file);
    }
    keys.push(...(await storedObjects(sql, companyId)));
  });
  for (const { id, key } of keys) {
    const file = deps.storage && (await exportObject(deps.storage, { id, key, into }));
    if (file) manifest.files.push(file);
    else if (deps.storage && !(await isStillKept(deps.db, companyId, id))) manifest.removedMedia.push(id);
    else manifest.missingMedia.push(id);
  }
  await writeFile(path.join(into, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`, {
    mode: 0o600,
  });
  return manifest;
}

/** Named as in an export. */
const OBJECTS = `
  SELECT id::text AS name, storage_key FROM media WHERE company_id = $1
  UNION ALL SELECT media_id || '.' || variant, storage_key FROM media_variants
  WHERE company_id = $1 AND storage_key IS NOT NULL
  UNION ALL SELECT id || '.ndjson.gz', storage_key FROM message_archives WHERE company_id = $1`;

/** Everything of a company in the storage: media, the forms that were made of it, and archives of messages. */
export async function storedObjects(sql: Sql, companyId: number): Promise<{ id: string; key: string }[]> {
  const { rows } = await sql.query<{ id: string; key: string }>(
    `SELECT name AS id, storage_key AS key FROM (${OBJECTS}) AS stored ORDER BY name`,
    [companyId],
  );
  return rows;
}

async function isStillKept(sql: Sql, companyId: number, id: string): Promise<boolean> {
  const { rowCount } = await sql.query(`SELECT FROM (${OBJECTS}) AS stored WHERE name = $2`, [companyId, id]);
  return rowCount !== 0;
}

function rowsOf({ name, companyColumn, columns }: TenantTable): ExportedRows {
  const shown = columns
    .filter((column) => column.type !== 'bytea' && !SECRET_TEXTS.has(`${name}.${column.name}`))
    .map((column) => `"${column.name}"`);
  return {
    name,
    rowsSql: (companyId) =>
      `SELECT ${shown.join(', ')} FROM ${name} WHERE ${companyColumn} = ${Math.trunc(companyId)}`,
  };
}

async function exportRows(
  sql: Sql,
  { name, rowsSql }: ExportedRows,
  { companyId, into }: { companyId: number; into: string },
): Promise<ExportedFile | null> {
  await sql.query(
    `DECLARE exported NO SCROLL CURSOR FOR SELECT to_jsonb(shown)::text AS line FROM (${rowsSql(companyId)}) shown`,
  );
  let rows = 0;
  async function* lines() {
    for (;;) {
      const fetched = await sql.query<{ line: string }>(`FETCH ${FETCH} FROM exported`);
      rows += fetched.rows.length;
      if (fetched.rows.length > 0) yield fetched.rows.map(({ line }) => `${line}\n`).join('');
      if (fetched.rows.length < FETCH) return;
    }
  }
  const first = lines();
  const begun = await first.next();
  let file: ExportedFile | null = null;
  if (!begun.done) {
    async function* all() {
      yield begun.value as string;
      yield* first;
    }
    file = await write(into, `${name}.ndjson`, all());
  }
  await sql.query('CLOSE exported');
  return file && { ...file, rows };
}

/** Null when the storage does not have it. */
async function exportObject(
  storage: Storage,
  { id, key, into }: { id: string; key: string; into: string },
): Promise<ExportedFile | null> {
  await mkdir(path.join(into, 'media'), { recursive: true, mode: 0o700 });
  try {
    return await write(into, `media/${id}`, await storage.open(key));
  } catch (err) {
    if (err instanceof StorageMissing) return null;
    throw err;
  }
}

async function write(
  into: string,
  name: string,
  content: AsyncIterable<string | Buffer>,
): Promise<ExportedFile> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const measured = new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      hash.update(chunk);
      sizeBytes += chunk.length;
      callback(null, chunk);
    },
  });
  const file = createWriteStream(path.join(into, name), { mode: 0o600, flags: 'wx' });
  await usingFolder(into, () => pipeline(content, measured, file));
  return { path: name, sizeBytes, sha256: hash.digest('hex') };
}

/** Adds the folder of the export to the message of a fault of that folder. */
async function usingFolder(into: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (err) {
    const fault = err instanceof Error && FOLDER_FAULTS[(err as NodeJS.ErrnoException).code ?? ''];
    throw fault ? new StartError(`${into} cannot be used: ${fault}`, { cause: err }) : err;
  }
}
