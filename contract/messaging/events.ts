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
  .meta({ description: 'Event names or patterns, separated by commas; default all' });

const filters = {
  instance_id: z.string().optional().meta({ description: 'Only the events of one instance' }),
  types: typesQuery,
};

const cursorQuery = z.string().min(1).max(128).optional();

/** Each event with its `cursor`, which is also the `id` of its SSE frame. */
export const listedEvent = eventEnvelope
  .extend({ cursor: z.string().meta({ description: 'Opaque position in the log' }) })
  .meta({ id: 'ListedEvent' });
export type ListedEvent = z.infer<typeof listedEvent>;

export const eventList = z
  .object({
    data: z.array(listedEvent),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: 'Continues in the same direction; null at the end' }),
    reset: z
      .boolean()
      .meta({ description: 'The cursor in after had expired: events that came after it may be missing' }),
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
  ticket: z.string().optional().meta({ description: 'From POST /v1/events/ticket, in place of credentials' }),
  after: cursorQuery.meta({ description: 'Resume after this cursor' }),
};

const RESUME =
  'A stream ends with the credentials it was opened with. Resumes after the last cursor seen and misses nothing; without one it begins with the present.';

export const events = {
  stream: route(
    {
      auth: 'any',
      access: 'all',
      raw: 'sse',
      ticket: true,
      errors: ['INSTANCE_NOT_FOUND'],
      summary: 'Events as server-sent events',
      description: `Each frame: id (the cursor), event (the type), data (the event). A frame named reset says that the cursor had expired or is not of this log, one named end that the stream closes. Takes Last-Event-ID. ${RESUME}`,
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
      summary: 'Events over a WebSocket',
      description: `Each text frame is one event with its cursor, or a control frame: {"heartbeat": {cursor}}, or {"reset": {reason, cursor}} when the cursor had expired or is not of this log. ${RESUME}`,
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
      description: 'Newest first, or, with after, oldest first from there.',
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
      summary: 'A ticket for a live connection from a browser',
      description:
        'For one connection, to be opened within a minute; ends with the credentials that asked for it.',
    },
    { method: 'POST', path: '/v1/events/ticket', body: c.noBody(), responses: { 201: eventsTicket } },
  ),
} satisfies AppRouter;
