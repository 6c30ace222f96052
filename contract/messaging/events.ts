import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { boundedArray } from '../bounded.ts';
import { eventEnvelope, eventPattern } from '../events.ts';
import { integerQuery, timestamp } from '../fields.ts';
import { LIST_LIMIT, WEBHOOK_PATTERNS_MAX } from '../limits.ts';
import { c, route } from '../route-meta.ts';

/** `types=message.*,instance.connected` or repeated; patterns as webhooks take them. */
const typesQuery = z
  .union([z.string(), boundedArray(z.string(), { max: WEBHOOK_PATTERNS_MAX })])
  .transform((types) =>
    [types]
      .flat()
      .flatMap((list) => list.split(','))
      .map((type) => type.trim())
      .filter((type) => type !== ''),
  )
  .pipe(boundedArray(eventPattern, { max: WEBHOOK_PATTERNS_MAX }))
  .optional()
  .meta({ description: 'Only these event names or patterns, separated by commas; default all' });

const filters = {
  instance_id: z.string().optional().meta({ description: 'Only events of this instance' }),
  types: typesQuery,
};

const cursorQuery = z.string().min(1).max(128).optional();

/** Each event with its `cursor`, which is also the `id` of its SSE frame. */
export const listedEvent = eventEnvelope
  .extend({ cursor: z.string().meta({ description: 'The position in the event log, opaque' }) })
  .meta({ id: 'ListedEvent' });
export type ListedEvent = z.infer<typeof listedEvent>;

export const eventList = z
  .object({
    data: z.array(listedEvent),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: 'The position of the next page in the same direction; null at the end' }),
    reset: z.boolean().meta({
      description: 'Whether the cursor in after had expired: events that followed it may be missing',
    }),
  })
  .meta({ id: 'EventList' });
export type EventList = z.infer<typeof eventList>;

export const eventsTicket = z
  .object({ ticket: z.string(), expires_at: timestamp })
  .meta({ id: 'EventsTicket' });
/** @public The SDK publishes it. */
export type EventsTicket = z.infer<typeof eventsTicket>;

const liveQuery = {
  ...filters,
  ticket: z
    .string()
    .optional()
    .meta({ description: 'A ticket from POST /v1/events/ticket, in place of credentials' }),
  after: cursorQuery.meta({ description: 'The cursor after which to resume' }),
};

const RESUME =
  'With the cursor of the last event seen, the stream resumes after it and misses nothing; without a cursor it begins with new events. The stream ends when the credentials that opened it end.';

export const events = {
  stream: route(
    {
      auth: 'any',
      access: 'all',
      raw: 'sse',
      ticket: true,
      errors: ['INSTANCE_NOT_FOUND'],
      summary: 'Stream events as server-sent events',
      description: `Each frame has id (the cursor), event (the type) and data (the event). A frame named reset says that the cursor had expired or belongs to another log; a frame named end says that the stream closes. Takes Last-Event-ID. ${RESUME}`,
    },
    {
      method: 'GET',
      path: '/v1/events/stream',
      query: z.object(liveQuery),
      responses: { 200: c.otherResponse({ contentType: 'text/event-stream', body: z.string() }) },
    },
  ),
  ws: route(
    {
      auth: 'any',
      access: 'all',
      raw: 'ws',
      ticket: true,
      errors: ['INSTANCE_NOT_FOUND'],
      summary: 'Stream events over a WebSocket',
      description: `Each text frame is one event with its cursor, or a control frame: {"heartbeat": {cursor}}, or {"reset": {reason, cursor}} when the cursor had expired or belongs to another log. ${RESUME}`,
    },
    {
      method: 'GET',
      path: '/v1/events/ws',
      query: z.object(liveQuery),
      responses: { 101: c.noBody() },
    },
  ),
  list: route(
    {
      auth: 'any',
      access: 'all',
      errors: ['INSTANCE_NOT_FOUND'],
      summary: 'List events',
      description: 'Newest first; with after, oldest first from that cursor.',
    },
    {
      method: 'GET',
      path: '/v1/events',
      query: z.object({
        ...filters,
        after: cursorQuery.meta({ description: 'Only events after this cursor, oldest first' }),
        before: cursorQuery.meta({ description: 'Only events before this cursor, newest first' }),
        limit: integerQuery(LIST_LIMIT),
      }),
      responses: { 200: eventList },
    },
  ),
  get: route(
    { auth: 'any', access: 'all', notFound: 'EVENT_NOT_FOUND', summary: 'Read an event' },
    { method: 'GET', path: '/v1/events/:eventId', responses: { 200: eventEnvelope } },
  ),
  ticket: route(
    {
      auth: 'any',
      access: 'all',
      summary: 'Create a ticket for a live connection from a browser',
      description:
        'The ticket opens one connection, within a minute. The connection ends when the credentials that requested the ticket end.',
    },
    { method: 'POST', path: '/v1/events/ticket', body: c.noBody(), responses: { 201: eventsTicket } },
  ),
} satisfies AppRouter;
