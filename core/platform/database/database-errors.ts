/** Tells errors of PostgreSQL apart. */

/** A prepared statement whose columns have changed; by the server's function, since its message may be translated. */
export function isStalePlan(err: unknown): boolean {
  const { code, routine } = err as { code?: unknown; routine?: unknown };
  return code === '0A000' && routine === 'RevalidateCachedQuery';
}

/** Two transactions waited for each other, and PostgreSQL ended this one. */
export function isDeadlock(err: unknown): boolean {
  return err instanceof Error && (err as { code?: unknown }).code === '40P01';
}

/** A lock did not come within `lock_timeout`. */
export function isLockTimeout(err: unknown): boolean {
  return err instanceof Error && (err as { code?: unknown }).code === '55P03';
}

/** The statement names a table that is not there, as on a database that nobody has migrated. */
export function isUndefinedTable(err: unknown): boolean {
  return err instanceof Error && (err as { code?: unknown }).code === '42P01';
}

/** A row names another that is not there, or is named by another and cannot go. */
export function isForeignKeyViolation(err: unknown): boolean {
  return err instanceof Error && (err as { code?: unknown }).code === '23503';
}

/**
 * Marks an error as that of making a connection: nothing was asked of the database, also when the code names a changed password, an
 * expired certificate or a want of file descriptors. The mark is a property, since MikroORM copies these into an error of its own.
 */
export function asNotConnected(err: unknown): unknown {
  return err instanceof Error ? Object.assign(err, { isNotConnected: true }) : err;
}

/**
 * PostgreSQL could not be reached, went away, takes no writes, or ended the transaction for another: the request may be tried
 * again (503), nothing is known to be wrong with it.
 */
export function isUnavailable(err: unknown): boolean {
  if (!(err instanceof Error)) return false;
  if (isStalePlan(err) || isDeadlock(err)) return true;
  if ((err as { isNotConnected?: unknown }).isNotConnected === true) return true;
  const code = (err as { code?: unknown }).code;
  if (typeof code === 'string') {
    // 08: connection; 53: too many connections, disk or memory; 57P: shut down, starting; 25006: read-only, as
    // a standby is, or a primary that has just become one; 57014, 55P03, 25P0x: a limit of time
    // (connection-limits.ts), its own or that of who held the lock; Node's own E...
    if (
      /^(08|53|57P0|57014|55P03|25P0[34]|25006$)/.test(code) ||
      /^(ECONN|EPIPE|ETIMEDOUT|ENOENT|EAI_AGAIN|ENOTFOUND|EHOSTUNREACH|ENETUNREACH)/.test(code)
    )
      return true;
  }
  return /Connection terminated|Query read timeout|is not currently accepting connections|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed and is not queryable/.test(
    err.message,
  );
}
