import { applyPlanLimits } from '@posthorn/core/accounts/company/apply-plan-limits.ts';
import { BILLING_NEWS_QUEUE, type BillingNews } from '@posthorn/core/billing/entitlements/entitlements.ts';
import type { Broker, Consumer } from '@posthorn/core/platform/broker/broker.ts';
import type { Clock } from '@posthorn/core/platform/clock.ts';
import type { Db } from '@posthorn/core/platform/db.ts';
import type { Log } from '@posthorn/core/platform/log.ts';

/** Messaging's ear for billing: what a company may do now, applied to its row and its instances. */
export async function consumeBillingNews(deps: {
  db: Db;
  broker: Broker;
  clock: Clock;
  log: Log;
}): Promise<Consumer> {
  await deps.broker.declare([BILLING_NEWS_QUEUE]);
  return deps.broker.consume(BILLING_NEWS_QUEUE, { prefetch: 8 }, async (body) => {
    const news = body as BillingNews;
    const applied = await applyPlanLimits(deps, news);
    deps.log.info({ company_id: news.company_id, kind: news.kind, applied }, 'heard from billing');
  });
}
