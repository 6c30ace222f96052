import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { SessionKey, SessionKeys } from '@posthorn/core/network/driver.ts';

/** A file of keys. When its process is killed, it holds the state after the last complete write. */
export class KeyFile {
  readonly db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(file: string) {
    this.db = new DatabaseSync(file, { timeout: 10_000 });
    // The machine does not fail in tests, so writes to the operating system are kept.
    this.db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF');
    this.db.exec(
      'CREATE TABLE IF NOT EXISTS keys (session INT, kind TEXT, id TEXT, value TEXT, PRIMARY KEY (session, kind, id))',
    );
  }

  /** Each statement is prepared once: the memory that statements take outside of the heap would be measured. */
  prepare(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  close(): void {
    this.#statements.clear();
    this.db.close();
  }
}

const OF_KIND = 'SELECT id, value FROM keys WHERE session = ? AND kind = ?';

/** The keys of one session in a file, as if in the database: outside of the memory that is measured. */
export class FileKeys implements SessionKeys {
  readonly #file: KeyFile;
  readonly #session: number;

  constructor(file: KeyFile, session: number) {
    this.#file = file;
    this.#session = session;
  }

  async read(kind: string, ids?: readonly string[]): Promise<Map<string, unknown>> {
    const one = `${OF_KIND} AND id = ?`;
    const rows = ids
      ? ids.flatMap((id) => this.#file.prepare(one).all(this.#session, kind, id))
      : this.#file.prepare(OF_KIND).all(this.#session, kind);
    return new Map(rows.map(({ id, value }) => [String(id), JSON.parse(String(value))]));
  }

  async write(changes: readonly SessionKey[]): Promise<void> {
    this.#file.db.exec('BEGIN IMMEDIATE');
    for (const { kind, id, value } of changes) {
      if (value === null)
        this.#file
          .prepare('DELETE FROM keys WHERE session = ? AND kind = ? AND id = ?')
          .run(this.#session, kind, id);
      else
        this.#file
          .prepare('INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?)')
          .run(this.#session, kind, id, JSON.stringify(value));
    }
    this.#file.db.exec('COMMIT');
  }

  async clear(): Promise<void> {
    this.#file.prepare('DELETE FROM keys WHERE session = ?').run(this.#session);
  }
}
