import { BILLING_ROLE, billingConnectionUrl } from '@posthorn/core/migrations/billing-role.ts';
import { schemaLack } from '@posthorn/core/migrations/require-schema.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { oneRow } from '@posthorn/core/platform/database/one-row.ts';
import { createWriteProbe } from '@posthorn/core/platform/database/write-probe.ts';
import type { AdminDeps, Finding } from '../command.ts';

const POSTGRES_MIN = 140_000;
/** The most connections that one messaging, one worker and one billing process open together (docs/operating.md). */
const CONNECTIONS_MIN = 26 + 41 + 21;

export async function checkDatabase({ db }: AdminDeps): Promise<Finding> {
  const sinceMs = performance.now();
  const { rows } = await db.query<{
    version: number;
    text: string;
    most: number;
    used: number;
    fsync: string;
  }>(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS text,
       current_setting('max_connections')::int AS most, current_setting('fsync') AS fsync,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used`,
  );
  const { version, text, most, used, fsync } = oneRow(rows);
  if (version < POSTGRES_MIN) throw new Error(`PostgreSQL ${text}: 14 or newer is required`);
  const tookMs = Math.round(performance.now() - sinceMs);
  const says = `PostgreSQL ${text}, ${used} of ${most} connections used, answers in ${tookMs} ms`;
  if (fsync !== 'on')
    return { says: `${says}; fsync is off: a power cut loses what was accepted`, isRemark: true };
  if (most < CONNECTIONS_MIN)
    return { says: `${says}; one of each role may need ${CONNECTIONS_MIN}`, isRemark: true };
  return { says };
}

/**
 * A pooler gives its clients numbers of its own, not those of the server's processes. One that lends a connection for a
 * transaction only gives that of an idle client to the next.
 */
export async function checkPooler({ config, log }: AdminDeps): Promise<Finding> {
  const db = createDb({ url: config.DATABASE_URL, poolSize: 2, log, name: 'admin pooler' });
  const ask = async () => {
    const client = await db.pool.connect();
    const { rows } = await client.query<{ pid: number; jit: string }>(
      "SELECT pg_backend_pid() AS pid, current_setting('jit') AS jit",
    );
    const { pid, jit } = oneRow(rows);
    const isDirect = (client as unknown as { processID: number }).processID === pid;
    return { pid, isDirect, hasOptions: jit === 'off', release: () => client.release() };
  };
  const held: Awaited<ReturnType<typeof ask>>[] = [];
  try {
    for (let nth = 0; nth < 2; nth += 1) held.push(await ask());
    const [one, other] = held as [(typeof held)[0], (typeof held)[0]];
    if (one.isDirect) return { says: 'none, connections are direct' };
    if (one.pid === other.pid)
      throw new Error(
        'it lends connections by transaction: locks and notifications need pool_mode = session',
      );
    if (one.hasOptions) return { says: 'one with a connection for each of ours' };
    const says = 'it drops our start parameters: time limits are missing, and plans change; connect directly';
    return { says, isRemark: true };
  } finally {
    for (const { release } of held) release();
    await db.close();
  }
}

/** A standby that is this far behind answers no report. */
const BEHIND_BYTES = 16 * 1024 * 1024;

export async function checkStandby({ config, db, log }: AdminDeps): Promise<Finding> {
  const url = config.DATABASE_READ_URL;
  if (url === undefined) return { says: 'none, reports are read from the primary' };
  const standby = createDb({ url, poolSize: 1, log, name: 'admin standby' });
  try {
    const replayed = await standby.query<{ lsn: string | null }>(
      'SELECT pg_last_wal_replay_lsn()::text AS lsn WHERE pg_is_in_recovery()',
    );
    if (replayed.rows.length === 0) throw new Error('DATABASE_READ_URL names no standby');
    const { rows } = await db.query<{ bytes: number }>(
      'SELECT greatest(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), $1::pg_lsn), 0)::float8 AS bytes',
      [oneRow(replayed.rows).lsn ?? '0/0'],
    );
    const { bytes } = oneRow(rows);
    const says = `${bytes} bytes behind`;
    if (bytes <= BEHIND_BYTES) return { says };
    return { says: `${says}: reports are read from the primary`, isRemark: true };
  } finally {
    await standby.close();
  }
}

export async function checkSchema({ db }: AdminDeps): Promise<Finding> {
  for (const service of ['messaging', 'billing'] as const) {
    const lack = await schemaLack(db, service);
    if (lack) throw new Error(`${service} ${lack}`);
  }
  return { says: 'of this version' };
}

export async function checkWrites({ db }: AdminDeps): Promise<Finding> {
  await createWriteProbe({ db })();
  const { rows } = await db.query<{ owns: boolean }>(
    `SELECT bool_and(pg_has_role(c.relowner, 'USAGE')) AS owns
     FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')`,
  );
  // Workers make and drop the partitions of the days.
  if (!oneRow(rows).owns)
    throw new Error(
      'this user does not own all tables, so that events and delivery logs are kept for ever: connect as their owner, or as a member of it',
    );
  return { says: 'committed, and the user owns all tables' };
}

export async function checkBillingRole({ config, log }: AdminDeps): Promise<Finding> {
  const url = await billingConnectionUrl({
    databaseUrl: config.DATABASE_URL,
    own: config.BILLING_DATABASE_URL,
    log,
  });
  const db = createDb({ url, poolSize: 1, log, name: 'admin billing' });
  try {
    const { rows } = await db.query<{ role: string }>(
      'SELECT current_user AS role FROM billing.accounts, companies WHERE false UNION ALL SELECT current_user',
    );
    return { says: `${rows[0]?.role ?? BILLING_ROLE} reads its schema` };
  } finally {
    await db.close();
  }
}

/** More than this is told by the roles, too. */
const OFF_FROM_MS = 1_000;

export async function checkClock({ db }: AdminDeps): Promise<Finding> {
  const askedMs = Date.now();
  const { rows } = await db.query<{ ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
  );
  const aheadMs = Math.round((askedMs + Date.now()) / 2 - oneRow(rows).ms);
  const says = `this machine is ${Math.abs(aheadMs)} ms ${aheadMs < 0 ? 'behind' : 'ahead of'} the database, whose clock counts`;
  return { says, isRemark: Math.abs(aheadMs) > OFF_FROM_MS };
}
