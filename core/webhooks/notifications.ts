/** Payload of a notification on `deliveries`: retries were made due at once, which no look at new rows finds. */
export const RETRIES_NOTIFICATION = 'retries';

const CHANGED = 'webhook:';

/** Payload of a notification on `deliveries`: this webhook was changed or deleted. */
export function webhookNotification(webhookId: number): string {
  return `${CHANGED}${webhookId}`;
}

const COMPANY = 'company:';

/** Payload of a notification on `deliveries`: this company was suspended, reactivated or deleted. */
export function companyNotification(companyId: number): string {
  return `${COMPANY}${companyId}`;
}

/** Payload of a notification on `deliveries`: there are new ones, of which the dispatcher of this name knows. */
export function directNotification(dispatcher: string): string {
  return `direct:${dispatcher}`;
}

/** The company that a notification names; null when it names none. */
export function changedCompany(payload: string): number | null {
  return payload.startsWith(COMPANY) ? Number(payload.slice(COMPANY.length)) : null;
}

/** The webhook that a notification names; null when it names none. */
export function changedWebhook(payload: string): number | null {
  return payload.startsWith(CHANGED) ? Number(payload.slice(CHANGED.length)) : null;
}
