/**
 * How long the database tolerates one of our connections whose process has stopped. A process can be frozen in the
 * middle of a transaction; its locks and, worse, its position in the order of events would be held for as long.
 */
export interface ConnectionLimits {
  /** An idle transaction. */
  idleInTransactionMs: number;
  /** A wait for a lock; longer than the above, so that a waiter outlasts a frozen holder. */
  lockMs: number;
  statementMs: number;
}

/** For everything that answers requests and moves messages. Readers of events are delayed no longer than this. */
export const QUICK_LIMITS: ConnectionLimits = {
  idleInTransactionMs: 8_000,
  lockMs: 12_000,
  statementMs: 30_000,
};

/** For maintenance and administration, whose statements may take long; their transactions may not idle. */
export const PATIENT_LIMITS: ConnectionLimits = { ...QUICK_LIMITS, lockMs: 60_000, statementMs: 900_000 };

/**
 * A peer that vanished is noticed within about this time, on both sides: by probes of the idle connection, and by
 * data that is not acknowledged.
 */
export const VANISHED_AFTER_MS = 10_000;

/** Client side of {@link VANISHED_AFTER_MS}: Node's own default is two hours. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 5_000 } as const;

/** Start parameters for these limits. */
export function limitSettings(limits: ConnectionLimits): string[] {
  return [
    `-c idle_in_transaction_session_timeout=${limits.idleInTransactionMs}`,
    `-c lock_timeout=${limits.lockMs}`,
    `-c statement_timeout=${limits.statementMs}`,
    ...KEEP_ALIVE_SETTINGS,
  ];
}

/** For connections that only listen: they cannot delay anything. */
export const KEEP_ALIVE_SETTINGS = [
  '-c tcp_keepalives_idle=4',
  '-c tcp_keepalives_interval=2',
  '-c tcp_keepalives_count=3',
  `-c tcp_user_timeout=${VANISHED_AFTER_MS}`,
];

/** For `migrate`, whose statements and turns take as long as they take, whatever its user or its database has by default. */
export const NO_LIMITS = [
  '-c statement_timeout=0',
  '-c lock_timeout=0',
  '-c idle_in_transaction_session_timeout=0',
  '-c idle_session_timeout=0',
];

/**
 * A connection string and start parameters for it. The driver lets a URL's own `options` replace the parameters that it
 * is given besides; here they are added, and win where both name a setting.
 */
export function connectionWith(
  url: string,
  settings: readonly string[],
): { connectionString: string; options: string } {
  const parsed = new URL(url);
  const own = parsed.searchParams.get('options');
  if (own === null) return { connectionString: url, options: settings.join(' ') };
  parsed.searchParams.delete('options');
  return { connectionString: parsed.href, options: [...settings, own].join(' ') };
}
