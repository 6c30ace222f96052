import pg from 'pg';
import type { Log } from '../process/log.ts';
import type { Metrics } from '../process/metrics.ts';
import { ClusterClient } from './cluster-client.ts';
import {
  type ConnectionLimits,
  connectionWith,
  KEEP_ALIVE,
  limitSettings,
  QUICK_LIMITS,
} from './connection-limits.ts';
import { isStalePlan } from './database-errors.ts';
import { type BatchedStatement, StatementBatch } from './statement-batch.ts';
import { watchPool } from './watch-pool.ts';

/**
 * Runs SQL: the pool, or one connection inside a transaction. A parameter of this type is named `sql`; the pool in a
 * `deps` object is named `db`.
 */
export interface Sql {
  query<Row extends pg.QueryResultRow>(
    query: pg.QueryConfig | string,
    values?: unknown[],
  ): Promise<pg.QueryResult<Row>>;
}

/** One connection inside a transaction. A text is one statement. */
export interface Transaction extends Sql {
  /**
   * Runs a statement whose rows nobody needs. It is sent and not waited for, so that it shares a round trip with
   * what follows; when it fails, the commit does. Everything later in the transaction comes after it.
   */
  write(query: pg.QueryConfig | string, values?: unknown[]): Promise<void>;
  /** The same, when the rows are needed after the commit: `rows` may be called then, and not before. */
  writeReturning<Row extends pg.QueryResultRow>(
    query: pg.QueryConfig,
  ): Promise<{ rows: () => Promise<Row[]> }>;
}

export function isTransaction(sql: Sql): sql is Transaction {
  return 'write' in sql;
}

/** Runs a statement whose rows nobody needs, within a transaction as {@link Transaction.write} does. */
export async function write(sql: Sql, query: pg.QueryConfig): Promise<void> {
  if (isTransaction(sql)) await sql.write(query);
  else await sql.query(query);
}

/** Plain SQL through a pool: for hot and set-based statements; the rest goes through the ORM. */
export interface Db extends Sql {
  readonly pool: pg.Pool;
  /**
   * Runs `work` in one READ COMMITTED transaction; whatever it throws rolls back and is thrown on.
   * `opening` runs right after BEGIN, in the same round trip as that and the first statement of `work`.
   */
  transaction<T>(work: (sql: Transaction) => Promise<T>, opening?: pg.QueryConfig): Promise<T>;
  close(): Promise<void>;
}

const INT8 = 20;

/** bigint columns hold ids and counts below 2^53: numbers serve, strings would spread. */
export const pgTypes = {
  getTypeParser(oid: number, format?: unknown): (value: string) => unknown {
    if (oid === INT8 && format !== 'binary') return Number;
    return pg.types.getTypeParser(oid, format as 'text');
  },
} as pg.CustomTypesConfig;

/**
 * A prepared statement keeps the plan it got while its tables were empty, a sequential scan, and a busy
 * new installation met a hundredfold of rows before the first ANALYZE: accepts went from 9,100/s to
 * 3,000/s within 100,000 messages. Every hot statement goes by an index or by nothing; this says so. Nor
 * is it planned anew for the values of each execution, which took 0.6 of 1.2 ms of a claim of 16 deliveries.
 *
 * It does not keep a join from reading a whole index in its order where a queue was empty when it was last
 * analyzed (64 instead of 1 ms for a claim of 32, among 20,000). Hence `x.id = ANY (ARRAY[y.id])` in the
 * hot joins: that no order serves, only a probe for each row. See docs/decisions/0018-plans-of-queues.md.
 */
const INDEXED_PLANS = [
  '-c enable_seqscan=off',
  '-c enable_hashjoin=off',
  '-c enable_mergejoin=off',
  '-c plan_cache_mode=force_generic_plan',
];

const ANSWER_MARGIN_MS = 5_000;

export interface DbOptions {
  url: string;
  poolSize: number;
  log: Log;
  name: string;
  /** `indexed`: for the pool of the hot statements, whose plans must not depend on when they were made. */
  plans?: 'indexed';
  /** Default {@link QUICK_LIMITS}. */
  limits?: ConnectionLimits;
  /** Where the pool is shown, under which name. */
  shown?: { metrics: Metrics; name: string };
}

export function createDb(options: DbOptions): Db {
  const limits = options.limits ?? QUICK_LIMITS;
  const pool = new pg.Pool({
    ...connectionWith(options.url, [
      '-c jit=off',
      ...(options.plans === 'indexed' ? INDEXED_PLANS : []),
      ...limitSettings(limits),
    ]),
    Client: ClusterClient,
    max: options.poolSize,
    application_name: options.name,
    types: pgTypes,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    // The database ends slow statements; this is for a database that vanished.
    query_timeout: limits.statementMs + ANSWER_MARGIN_MS,
    // Statements go when they are asked for, not when the one before is answered: see `openTransaction`.
    pipeline: true,
    ...KEEP_ALIVE,
  });
  // An idle connection that dies (database restarted) is no crash: the pool opens another.
  pool.on('error', (err) => {
    if (!pool.ending) options.log.warn({ err }, 'idle database connection lost');
  });
  if (options.shown) watchPool(pool, options.shown);
  return {
    pool,
    query: (query, values) => queryFresh(pool, query as string, values),
    transaction: (work, opening) => runTransaction(pool, work, opening),
    close: () => pool.end(),
  };
}

/**
 * A migration that adds a column changes what a prepared `SELECT *` gives, and PostgreSQL refuses it from then on, before
 * it does anything. The pool closes the connection of a statement that failed, and no new one has the old plan.
 */
async function queryFresh<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  query: string,
  values: unknown[] | undefined,
): Promise<pg.QueryResult<Row>> {
  for (let left = pool.options.max; ; left -= 1) {
    try {
      return await pool.query<Row>(query, values);
    } catch (err) {
      if (!isStalePlan(err) || left === 0) throw err;
    }
  }
}

async function runTransaction<T>(
  pool: pg.Pool,
  work: (sql: Transaction) => Promise<T>,
  opening: pg.QueryConfig | undefined,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const transaction = openTransaction(client, opening);
  try {
    const result = await work(transaction);
    await transaction.commit();
    return result;
  } catch (thrown) {
    const cause = transaction.failure() ?? thrown;
    // A server that does not answer a statement does not answer ROLLBACK: the connection ends, and its transaction with it.
    // So does one whose plan is stale: it would fail again and again.
    if (isUnanswered(cause) || isStalePlan(cause)) broken = cause as Error;
    else
      await transaction.rollback().catch((err: Error) => {
        broken = err;
      });
    throw cause;
  } finally {
    client.release(broken);
  }
}

/**
 * Sends BEGIN and does not wait for it: it shares a round trip with the first statement, and COMMIT with the last
 * ones. PostgreSQL takes them in their order. After one that failed it refuses the others, and commits nothing.
 */
function openTransaction(client: pg.PoolClient, opening: pg.QueryConfig | undefined) {
  const statements = gatherStatements(client);
  let failure: unknown;
  /** A rejected statement that nobody awaits fails the transaction. */
  const watch = (sent: Promise<unknown>) => {
    sent.catch((err) => {
      if (err !== NEVER_SENT) failure ??= err;
    });
    return sent;
  };
  let begun: Promise<unknown> | null = watch(
    Promise.all([statements.send({ name: 'begin', text: 'BEGIN' }), opening && statements.send(opening)]),
  );

  async function query<Row extends pg.QueryResultRow>(
    text: pg.QueryConfig | string,
    values?: unknown[],
  ): Promise<pg.QueryResult<Row>> {
    const config = typeof text === 'string' ? { text } : text;
    const asked = statements.send(values ? { ...config, values } : config) as Promise<pg.QueryResult<Row>>;
    if (begun === null) return asked;
    const [answer] = await Promise.all([asked, begun]);
    begun = null;
    return answer;
  }

  async function send<Row extends pg.QueryResultRow>(text: pg.QueryConfig | string, values?: unknown[]) {
    const isBegun = begun === null;
    const answer = query<Row>(text, values);
    // Outside of a transaction it would be committed by itself.
    if (isBegun) watch(answer);
    else await answer;
    return { rows: async () => (await answer).rows };
  }

  return {
    query,
    async write(text: pg.QueryConfig | string, values?: unknown[]) {
      await send(text, values);
    },
    writeReturning: send,
    /** The first failure of a statement that nobody waited for: later ones say only that the transaction is over. */
    failure: () => failure,
    async commit() {
      const { command } = await statements.send({ name: 'commit', text: 'COMMIT' });
      if (failure !== undefined) throw failure;
      if (command !== 'COMMIT')
        throw new Error('the transaction was not committed: a statement of it had failed');
    },
    /** In no batch, where it would be skipped after a statement that fails. */
    async rollback() {
      statements.forget();
      await client.query('ROLLBACK');
    },
  };
}

const NEVER_SENT = new Error('the transaction was rolled back before this statement was sent');

/** Sends what is asked for in one turn of the event loop as one batch. */
function gatherStatements(client: pg.PoolClient) {
  let gathered: BatchedStatement[] = [];

  function flush(): void {
    const batch = gathered;
    gathered = [];
    if (batch.length > 0) client.query(new StatementBatch(batch, pgTypes));
  }

  return {
    send(query: pg.QueryConfig): Promise<pg.QueryResult> {
      if (gathered.length === 0) process.nextTick(flush);
      return new Promise((resolve, reject) => gathered.push({ query, resolve, reject }));
    },
    /** Drops the statements that were not sent yet. */
    forget(): void {
      for (const { reject } of gathered.splice(0)) reject(NEVER_SENT);
    },
  };
}

/** The time limit of this side has passed, not the database's. */
function isUnanswered(err: unknown): err is Error {
  return err instanceof Error && err.message === 'Query read timeout';
}
