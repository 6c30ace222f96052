import type { BillingDeps } from './deps.ts';
import { ofCompanySql } from './provider-events/company-events.ts';

/** In an order in which no row is still pointed at. */
const TABLES = [
  'charges',
  'subscription_items',
  'subscriptions',
  'cards',
  'profiles',
  'provider_tasks',
  'provider_intents',
  'outbox',
  'accounts',
];

/**
 * Removes what billing keeps of companies whose data messaging has purged, 30 days after their deletion
 * (ACC-26): their row is gone there. Gives the number of companies. One that the provider could still charge keeps its
 * rows until its subscriptions, and what failed requests left at the provider, are ended: nobody else knows of them.
 */
export async function purgeCompanies(deps: Pick<BillingDeps, 'db'>): Promise<number> {
  const { rows } = await deps.db.query<{ company_id: number }>(
    `SELECT company_id FROM billing.accounts mine
     WHERE NOT EXISTS (SELECT FROM public.companies theirs WHERE theirs.id = mine.company_id)
       AND NOT EXISTS (SELECT FROM billing.subscriptions subscription
                       WHERE subscription.company_id = mine.company_id
                         AND subscription.cancelled_at IS NULL AND subscription.closed_at IS NULL)
       AND NOT EXISTS (SELECT FROM billing.provider_tasks task
                       WHERE task.company_id = mine.company_id AND task.kind = 'end_subscription')
       AND NOT EXISTS (SELECT FROM billing.provider_intents intent
                       WHERE intent.company_id = mine.company_id AND intent.state IN ('started', 'undo'))
     LIMIT 100`,
  );
  for (const { company_id } of rows)
    await deps.db.transaction(async (sql) => {
      // The same order as when an event is processed. Another one could deadlock.
      await sql.query(DELETE_EVENTS, [company_id]);
      // Requests lock this row first (`lockCompany`), for the same reason.
      await sql.query('SELECT FROM billing.accounts WHERE company_id = $1 FOR UPDATE', [company_id]);
      for (const table of TABLES)
        await sql.query(`DELETE FROM billing.${table} WHERE company_id = $1`, [company_id]);
    });
  return rows.length;
}

const DELETE_EVENTS = `DELETE FROM billing.provider_events WHERE ${ofCompanySql('$1')}`;
