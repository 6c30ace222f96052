import type { EventDataByType, EventFields, EventPattern, EventType } from './contract-types.ts';

/** An event as every consumer gets it. Narrow `data` by `type`. */
export type WebhookEvent<T extends EventType = EventType> = {
  [K in T]: EventFields & { type: K; data: EventDataByType[K] };
}[T];

/** An event with its position in the log, from which a later stream can continue. */
export type StreamedEvent<T extends EventType = EventType> = WebhookEvent<T> & { cursor: string };

/** The events that a pattern covers. */
export type EventsMatching<P extends EventPattern> = P extends '*'
  ? EventType
  : P extends EventType
    ? P
    : P extends `${infer Start}.*`
      ? Extract<EventType, `${Start}.${string}`>
      : P extends `*.${infer End}`
        ? Extract<EventType, `${string}.${End}`>
        : never;
