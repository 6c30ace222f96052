/**
 * The condition for the events of the provider that are about a company, whose id is the SQL `company`: they name no company,
 * and are found by what they are about as long as that is known.
 */
export function ofCompanySql(company: string): string {
  const customers = `(SELECT asaas_customer_id FROM billing.profiles WHERE company_id = ${company})`;
  const subscriptions = `(SELECT asaas_subscription_id FROM billing.subscriptions WHERE company_id = ${company})`;
  const payments = `(SELECT asaas_payment_id FROM billing.charges WHERE company_id = ${company})`;
  return `(payload #>> '{payment,customer}' IN ${customers}
    OR payload #>> '{subscription,customer}' IN ${customers}
    OR payload #>> '{payment,subscription}' IN ${subscriptions}
    OR payload #>> '{subscription,id}' IN ${subscriptions}
    OR payload #>> '{payment,id}' IN ${payments})`;
}

/** For an export, which finds the other tables by their column `company_id`. */
export const EXPORTED_EVENTS = {
  name: 'billing.provider_events',
  rowsSql: (companyId: number) =>
    `SELECT * FROM billing.provider_events WHERE ${ofCompanySql(String(Math.trunc(companyId)))}`,
};
