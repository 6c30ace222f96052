/** A delivery that was claimed as it was written. */
export interface WrittenDelivery {
  id: number;
  webhookId: number;
  eventId: string;
  /** Changes whenever the webhook's row does. */
  webhookVersion: string;
  type: string;
  instanceId: string | null;
  /** The body as it is sent and signed. */
  body: string;
}

/**
 * Who makes deliveries in this process. What it has room for is claimed for it by the statement that writes the
 * events, in place of a notification, a search and a claim of its own.
 */
export interface DirectDelivery {
  /** The webhooks that have room for one delivery of each of these events; null: none, or not now. */
  offer(events: readonly { eventId: string; companyId: number }[]): DeliveryOffer | null;
}

/** Exactly one of `take` and `withdraw` is called, once. */
export interface DeliveryOffer {
  readonly webhookIds: readonly number[];
  /** The worker that claims; null: the lease ends by time alone. */
  readonly claimedBy: number | null;
  readonly leasedUntil: Date;
  /** They are committed, in the order of their ids. */
  take(deliveries: readonly WrittenDelivery[]): void;
  /** The commit failed. If it happened all the same, what was claimed is freed. */
  withdraw(): void;
}
