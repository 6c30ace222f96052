import type { Sql } from '../../platform/database/db.ts';
import { newId } from '../../platform/ids.ts';
import { wakeBillingWorker } from '../billing-bus.ts';
import type { BillingDeps } from '../deps.ts';
import { type PaymentProvider, ProviderError } from './port.ts';

/**
 * Creating something at the provider has a moment in which only the provider knows of it. Before the call an
 * intent is written with the reference it will carry there; the request that made it either turns it into
 * `done` together with our own rows, or it is undone: nobody was told that it exists.
 */
export type IntentKind = 'customer' | 'subscription';

/** Longer than a request can take with all its calls to the provider. */
const INTENT_LIFETIME_MS = 90_000;
/** A call that timed out may still be carried out; its result is looked for again after these. */
const LOOK_AGAIN_MS = [10_000, 60_000, 300_000, 900_000, 3_600_000];

export async function recordIntent(
  sql: Sql,
  input: { companyId: number; kind: IntentKind; now: Date },
): Promise<string> {
  const reference = newId();
  const expiresAt = new Date(input.now.getTime() + INTENT_LIFETIME_MS);
  await sql.query(
    `INSERT INTO billing.provider_intents (reference, company_id, kind, state, expires_at, next_attempt_at, created_at)
     VALUES ($1, $2, $3, 'started', $4, $4, $5)`,
    [reference, input.companyId, input.kind, expiresAt, input.now],
  );
  return reference;
}

/** The company's intents of a kind that are neither done nor undone. */
export async function openIntents(
  sql: Sql,
  input: { companyId: number; kind: IntentKind; now: Date },
): Promise<{ reference: string; underWay: boolean }[]> {
  const { rows } = await sql.query<{ reference: string; under_way: boolean }>(
    `SELECT reference, state = 'started' AND expires_at > $3 AS under_way
     FROM billing.provider_intents
     WHERE company_id = $1 AND kind = $2 AND state IN ('started', 'undo')`,
    [input.companyId, input.kind, input.now],
  );
  return rows.map((row) => ({ reference: row.reference, underWay: row.under_way }));
}

/**
 * Runs in the transaction that writes our own rows. False: the intent was given up meanwhile and what it created at
 * the provider is being removed, so the caller must not commit.
 */
export async function completeIntent(sql: Sql, reference: string): Promise<boolean> {
  const { rowCount } = await sql.query(
    `UPDATE billing.provider_intents SET state = 'done' WHERE reference = $1 AND state = 'started'`,
    [reference],
  );
  return rowCount === 1;
}

/** `certain`: the provider did nothing, so there is nothing to look for. */
export async function giveUpIntent(
  deps: Pick<BillingDeps, 'db' | 'clock'>,
  input: { reference: string; certain: boolean; why: string },
): Promise<void> {
  await deps.db.query(
    `UPDATE billing.provider_intents SET state = $2, last_error = $3, next_attempt_at = $4
     WHERE reference = $1 AND state = 'started'`,
    [input.reference, input.certain ? 'undone' : 'undo', input.why, deps.clock.now()],
  );
  if (!input.certain) await wakeBillingWorker(deps.db, 'intents');
}

/**
 * Runs the transaction that completes an intent. When it fails, what was made is removed at once: until the intent expires,
 * the provider would charge for it, and the company could make no other. A commit whose answer was lost holds.
 */
export async function commitIntent<T>(
  deps: Pick<BillingDeps, 'db' | 'clock' | 'log'>,
  reference: string,
  work: (sql: Sql) => Promise<T>,
): Promise<T> {
  try {
    return await deps.db.transaction(work);
  } catch (err) {
    await giveUpIntent(deps, { reference, certain: false, why: 'not committed' }).catch((cause: unknown) =>
      deps.log.warn({ err: cause, reference }, 'giving up a creation failed, it is undone once it expires'),
    );
    throw err;
  }
}

/**
 * Runs the call that creates something. When its answer is lost, the provider is asked at once whether it
 * was done: mostly it answers again a moment later. Throws what the call threw when it was not, with the
 * intent given up.
 */
export async function createAtProvider(
  deps: Pick<BillingDeps, 'db' | 'clock' | 'provider'>,
  input: { kind: IntentKind; reference: string; create: () => Promise<{ id: string }> },
): Promise<{ id: string }> {
  try {
    return await input.create();
  } catch (err) {
    const fault = err instanceof ProviderError ? err.fault : 'unknown';
    if (fault === 'unknown') {
      const [found] = await findAtProvider(deps.provider, input.kind, input.reference).catch(() => []);
      if (found) return found;
    }
    await giveUpIntent(deps, { reference: input.reference, certain: fault !== 'unknown', why: fault });
    throw err;
  }
}

/** Undoes the intents that are due; the number of those that ended. Run by the worker, and again after a crash. */
export async function undoDueIntents(
  deps: Pick<BillingDeps, 'db' | 'clock' | 'provider' | 'log'>,
): Promise<number> {
  const { rows } = await deps.db.query<{ reference: string }>(
    `SELECT reference FROM billing.provider_intents
     WHERE state IN ('started', 'undo') AND next_attempt_at <= $1 ORDER BY next_attempt_at LIMIT 20`,
    [deps.clock.now()],
  );
  let ended = 0;
  for (const { reference } of rows) if (await undoIntent(deps, reference)) ended += 1;
  return ended;
}

/**
 * Removes from the provider what an intent created there. True once nothing more can come of it. A look before its time, of
 * a request that tries again, takes the place of none of those to come.
 */
export async function undoIntent(
  deps: Pick<BillingDeps, 'db' | 'clock' | 'provider' | 'log'>,
  reference: string,
): Promise<boolean> {
  const intent = await takeIntent(deps, reference);
  if (!intent) return false;
  const { kind } = intent;
  try {
    const found = await findAtProvider(deps.provider, kind, reference);
    for (const { id } of found) {
      if (kind === 'customer') await deps.provider.deleteCustomer(id);
      else await deps.provider.deleteSubscription(id);
    }
    // Found: there was only this one call. Not found: it may still be carried out.
    if (found.length === 0 && !intent.is_due) return false;
    const ended = found.length > 0 || intent.attempts >= LOOK_AGAIN_MS.length;
    const nextMs = LOOK_AGAIN_MS[intent.attempts] ?? 0;
    await writeAttempt(deps, reference, intent, { state: ended ? 'undone' : 'undo', nextMs, error: null });
    if (found.length > 0)
      deps.log.info({ reference, kind }, 'removed an unfinished creation from the provider');
    return ended;
  } catch (err) {
    if (!(err instanceof ProviderError)) throw err;
    if (!intent.is_due) return false;
    const nextMs = LOOK_AGAIN_MS[Math.min(intent.attempts, LOOK_AGAIN_MS.length - 1)]!;
    await writeAttempt(deps, reference, intent, {
      state: 'undo',
      nextMs,
      error: err.fault,
      uncounted: true,
    });
    return false;
  }
}

interface TakenIntent {
  kind: IntentKind;
  attempts: number;
  is_due: boolean;
}

/** From here on the request that started it can no longer complete it. */
async function takeIntent(
  deps: Pick<BillingDeps, 'db' | 'clock'>,
  reference: string,
): Promise<TakenIntent | null> {
  const { rows } = await deps.db.query<TakenIntent>(
    `UPDATE billing.provider_intents SET state = 'undo'
     WHERE reference = $1 AND (state = 'undo' OR (state = 'started' AND expires_at <= $2))
     RETURNING kind, attempts, next_attempt_at <= $2 AS is_due`,
    [reference, deps.clock.now()],
  );
  return rows[0] ?? null;
}

/** A failed look does not count: the provider was not asked. Several at the same time count once. */
async function writeAttempt(
  deps: Pick<BillingDeps, 'db' | 'clock'>,
  reference: string,
  intent: TakenIntent,
  outcome: { state: 'undo' | 'undone'; nextMs: number; error: string | null; uncounted?: boolean },
): Promise<void> {
  await deps.db.query(
    `UPDATE billing.provider_intents
     SET state = $2, attempts = attempts + $3, next_attempt_at = $4, last_error = coalesce($5, last_error)
     WHERE reference = $1 AND state = 'undo' AND attempts = $6`,
    [
      reference,
      outcome.state,
      outcome.uncounted ? 0 : 1,
      new Date(deps.clock.now().getTime() + outcome.nextMs),
      outcome.error,
      intent.attempts,
    ],
  );
}

function findAtProvider(
  provider: PaymentProvider,
  kind: IntentKind,
  reference: string,
): Promise<{ id: string }[]> {
  return kind === 'customer' ? provider.findCustomers(reference) : provider.findSubscriptions(reference);
}
