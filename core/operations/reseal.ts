import type { Db } from '../platform/database/db.ts';
import type { Cipher } from '../platform/encryption.ts';

/** A column of sealed values, and the key of its table with the types of its columns. */
interface SealedColumn {
  table: string;
  column: string;
  key: Readonly<Record<string, string>>;
}

/** Everything that ENCRYPTION_KEY seals. A test walks the catalogue, so that no column is forgotten. */
export const SEALED: readonly SealedColumn[] = [
  { table: 'instances', column: 'credentials', key: { id: 'uuid' } },
  { table: 'instances', column: 'proxy', key: { id: 'uuid' } },
  { table: 'session_keys', column: 'sealed', key: { instance_id: 'uuid', kind: 'text', id: 'text' } },
  { table: 'webhooks', column: 'secret', key: { id: 'integer' } },
  { table: 'webhooks', column: 'previous_secret', key: { id: 'integer' } },
  { table: 'webhooks', column: 'earlier_secrets', key: { id: 'integer' } },
  { table: 'webhooks', column: 'headers', key: { id: 'integer' } },
  { table: 'mails', column: 'sealed', key: { id: 'bigint' } },
  { table: 'oauth_states', column: 'secrets', key: { state_hash: 'bytea' } },
  { table: 'oauth_pending', column: 'profile', key: { token_hash: 'bytea' } },
  { table: 'billing.cards', column: 'token', key: { id: 'integer' } },
];

export interface ResealedColumn {
  table: string;
  column: string;
  /** Values that were looked at. */
  checked: number;
  /** Sealed anew. */
  resealed: number;
  /** Sealed with a key that is not accepted here, or altered: left as they are. */
  unreadable: number;
}

const BATCH = 500;

/**
 * Seals everything with the key that seals now, while the services run: a value that somebody writes meanwhile is left to them.
 * Safe to repeat and to interrupt. Rows are locked for one statement of a batch.
 */
export async function resealAll(deps: { db: Db; cipher: Pick<Cipher, 'reseal'> }): Promise<ResealedColumn[]> {
  const done: ResealedColumn[] = [];
  for (const column of SEALED) done.push(await resealColumn(deps, column));
  return done;
}

async function resealColumn(
  { db, cipher }: { db: Db; cipher: Pick<Cipher, 'reseal'> },
  { table, column, key }: SealedColumn,
): Promise<ResealedColumn> {
  const names = Object.keys(key);
  const types = Object.values(key);
  const keyList = names.join(', ');
  const after = names.map((_, nth) => `$${nth + 1}::${types[nth]}`).join(', ');
  const result: ResealedColumn = { table, column, checked: 0, resealed: 0, unreadable: 0 };
  let last: unknown[] | null = null;
  for (;;) {
    const where: string = last === null ? '' : `AND (${keyList}) > (${after})`;
    const found: { rows: Record<string, unknown>[] } = await db.query(
      // A mail that nobody took is emptied.
      `SELECT ${keyList}, ${column} AS sealed_value FROM ${table} WHERE ${column} <> '' ${where}
       ORDER BY ${keyList} LIMIT ${BATCH}`,
      last ?? [],
    );
    const changed: { keys: unknown[]; from: Buffer; to: Buffer }[] = [];
    for (const row of found.rows) {
      const from = row.sealed_value as Buffer;
      result.checked += 1;
      try {
        const to = cipher.reseal(from);
        if (to) changed.push({ keys: names.map((name) => row[name]), from, to });
      } catch {
        result.unreadable += 1;
      }
    }
    if (changed.length > 0) {
      const arrays = types.map((type, nth) => `$${nth + 3}::${type}[]`).join(', ');
      const { rowCount } = await db.query(
        `UPDATE ${table} AS kept SET ${column} = n.to_value
         FROM unnest($1::bytea[], $2::bytea[], ${arrays}) AS n (from_value, to_value, ${keyList})
         WHERE ${names.map((name) => `kept.${name} = n.${name}`).join(' AND ')} AND kept.${column} = n.from_value`,
        [
          changed.map(({ from }) => from),
          changed.map(({ to }) => to),
          ...names.map((_, nth) => changed.map(({ keys }) => keys[nth])),
        ],
      );
      result.resealed += rowCount ?? 0;
    }
    const end = found.rows.at(-1);
    if (!end || found.rows.length < BATCH) return result;
    last = names.map((name) => end[name]);
  }
}
