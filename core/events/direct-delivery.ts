/**
 * The two ways from an event to its deliveries (docs/decisions/0028-handed-over-within-a-process.md). The rows in the
 * database are the same on both; they are kept by `worker/webhooks/`.
 *
 * The long way: the event and its deliveries are committed unclaimed, a notification on `deliveries` wakes the
 * dispatchers of all processes, and one of them finds the deliveries, claims them and reads their bodies. If the
 * notification is lost, a scan finds them.
 *
 * The short way, when the process that writes the event runs a dispatcher (`tell-events.ts`):
 *
 *   1. `reserve`: the dispatcher names the webhooks that have room for one delivery of each event. A webhook whose
 *      settings it has not read, that may have older deliveries, or whose company a claim is under way for, has none.
 *   2. The statement that writes the event claims the deliveries of those webhooks and returns them with their
 *      bodies, unless the company is suspended (`insert-events.ts`).
 *   3. `take`, after the commit: the claimed deliveries go to their endpoints, and the dispatcher learns which webhooks
 *      got unclaimed ones. If there are none, no notification is sent.
 *
 * From the short way to the long way: a delivery that was not claimed is announced as above. One that was claimed is
 * released when its webhook changed meanwhile or the dispatcher stops. `withdraw` replaces `take` when the commit or
 * the read of what was written failed: the room is free again, and if the commit took effect all the same, its
 * deliveries are released.
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
  /** The trace id of the request that caused the event. */
  traceId: string | null;
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
