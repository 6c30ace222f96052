/** Payload of a notification on `deliveries`: retries were made due at once, which no look at new rows finds. */
export const RETRIES_HINT = 'retries';

const CHANGED = 'webhook:';

/** Payload of a notification on `deliveries`: this webhook was changed or deleted. */
export function changedHint(webhookId: number): string {
  return `${CHANGED}${webhookId}`;
}

const COMPANY = 'company:';

/** Payload of a notification on `deliveries`: this company was suspended, reactivated or deleted. */
export function companyHint(companyId: number): string {
  return `${COMPANY}${companyId}`;
}

/** The company that a notification names; null when it names none. */
export function changedCompany(hint: string): number | null {
  return hint.startsWith(COMPANY) ? Number(hint.slice(COMPANY.length)) : null;
}

/** The webhook that a notification names; null when it names none. */
export function changedWebhook(hint: string): number | null {
  return hint.startsWith(CHANGED) ? Number(hint.slice(CHANGED.length)) : null;
}
