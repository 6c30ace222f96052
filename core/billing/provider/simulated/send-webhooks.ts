import type { Db } from '../../../platform/database/db.ts';
import { fetch } from '../../../platform/http/fetch.ts';
import type { Clock } from '../../../platform/process/clock.ts';

export interface SendDeps {
  db: Db;
  clock: Clock;
  /** Where our own ingestion listens. */
  url: string;
  secret: string;
}

/** The transaction waits for the answer: below what the database lets one wait (connection-limits.ts). */
const TIMEOUT_MS = 5_000;
const RETRY_MS = [1_000, 5_000, 30_000, 300_000];

/**
 * Sends the next webhook of the simulated provider, in the order in which things happened, and again until
 * it is answered 200. A crash between the answer and the removal sends it twice, as real providers do. False
 * when nothing is due.
 */
export async function sendNextWebhook(deps: SendDeps): Promise<boolean> {
  return deps.db.transaction(async (sql) => {
    const { rows } = await sql.query<{ id: number; body: unknown; attempts: number }>(
      `SELECT id, body, attempts FROM billing.simulated_webhooks
       WHERE attempts = 0 OR next_attempt_at <= $1
       ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED`,
      [deps.clock.now()],
    );
    const webhook = rows[0];
    if (!webhook) return false;
    if (await post(deps, webhook.body)) {
      await sql.query('DELETE FROM billing.simulated_webhooks WHERE id = $1', [webhook.id]);
      return true;
    }
    const waitMs = RETRY_MS[Math.min(webhook.attempts, RETRY_MS.length - 1)]!;
    await sql.query(
      'UPDATE billing.simulated_webhooks SET attempts = attempts + 1, next_attempt_at = $2 WHERE id = $1',
      [webhook.id, new Date(deps.clock.now().getTime() + waitMs)],
    );
    return true;
  });
}

async function post(deps: SendDeps, body: unknown): Promise<boolean> {
  try {
    const answer = await fetch(deps.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'asaas-access-token': deps.secret },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await answer.body?.cancel();
    return answer.status === 200;
  } catch {
    return false;
  }
}
