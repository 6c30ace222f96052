/**
 * The two ways from an event to its deliveries (docs/decisions/0028-handed-over-within-a-process.md).
 *
 * The long way: the event and its deliveries are committed, a notification wakes the dispatchers, one of them finds
 * the deliveries, claims them and reads their bodies.
 *
 * The short way, when the process that writes the event runs a dispatcher with room: the dispatcher reserves room
 * (`reserve`), the statement that writes the event claims the deliveries for it, and the commit hands them over
 * (`take`). Deliveries that find no room go the long way, and so does everything when the commit fails (`withdraw`).
 */

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

/** The deliveries of committed events, claimed and unclaimed. */
export interface WrittenDeliveries {
  /** In the order of their ids. */
  claimed: WrittenDelivery[];
  /** Those who got others, which nobody has claimed. */
  unclaimed: { webhookId: number; companyId: number }[];
}

/** The dispatcher of this process, as the writers of events see it. */
export interface DirectDelivery {
  /** Reserves room for the deliveries of events that are about to be written; null: the dispatcher is stopping. */
  reserve(events: readonly { eventId: string; companyId: number }[]): DeliveryReservation | null;
  /** Payload of notifications on `deliveries` about unclaimed deliveries that this dispatcher knows of: it ignores them. */
  readonly ownNotification: string;
}

/** Exactly one of `take` and `withdraw` is called, once. */
export interface DeliveryReservation {
  /** The webhooks that have room for one delivery of each of these events. */
  readonly webhookIds: readonly number[];
  /** The worker that claims; null: the lease ends by time alone. */
  readonly claimedBy: number | null;
  readonly leasedUntil: Date;
  /** Hands over the deliveries of events that are committed. */
  take(written: WrittenDeliveries): void;
  /** Frees the room after a failed commit. If the commit happened all the same, the claimed deliveries are freed. */
  withdraw(): void;
}
