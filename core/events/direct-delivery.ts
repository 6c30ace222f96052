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

/** What became of the deliveries of events that are committed. */
export interface WrittenDeliveries {
  /** In the order of their ids. */
  claimed: WrittenDelivery[];
  /** Those who got others, which nobody has claimed. */
  unclaimed: { webhookId: number; companyId: number }[];
}

/**
 * Who makes deliveries in this process. What it has room for is claimed for it by the statement that writes the
 * events, in place of a notification, a search and a claim of its own.
 */
export interface DirectDelivery {
  /** To be asked right before these events are written; null: it takes nothing any more. */
  offer(events: readonly { eventId: string; companyId: number }[]): DeliveryOffer | null;
  /** Payload of a notification on `deliveries` of what an offer was told to be unclaimed: it is news to others alone. */
  readonly notice: string;
}

/** Exactly one of `take` and `withdraw` is called, once. */
export interface DeliveryOffer {
  /** The webhooks that have room for one delivery of each of these events. */
  readonly webhookIds: readonly number[];
  /** The worker that claims; null: the lease ends by time alone. */
  readonly claimedBy: number | null;
  readonly leasedUntil: Date;
  /** They are committed. */
  take(written: WrittenDeliveries): void;
  /** The commit failed. If it happened all the same, what was claimed is freed. */
  withdraw(): void;
}
