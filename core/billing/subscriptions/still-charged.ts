/** The condition for subscriptions that the provider still charges for; an expired one waits there for a late payment. */
export function stillChargedSql(subscription: string): string {
  return `(${subscription}.status IN ('trialing', 'active', 'past_due', 'suspended')
    OR (${subscription}.status = 'expired' AND ${subscription}.closed_at IS NULL))`;
}
