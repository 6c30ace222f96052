import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { boundedRecord } from '../bounded.ts';
import { omitted, pageOf, pageQuery, timestamp, uuid } from '../fields.ts';
import { LIST_LIMIT, SCHEDULED_FIELDS_MAX, SCHEDULED_WAITING_MAX } from '../limits.ts';
import { SCHEDULABLE, SCHEDULABLE_PATHS, schedulableOf } from '../message-types.ts';
import { c, route } from '../route-meta.ts';
import { MEDIA_SEND_ERRORS } from './messages.ts';

export const scheduleBody = z
  .object({
    type: z
      .enum([...SCHEDULABLE, ...SCHEDULABLE_PATHS])
      .transform(schedulableOf)
      .meta({ description: 'The kind of send: its path below /messages, or the same with underscores' }),
    send_at: z.iso
      .datetime({ offset: true, error: 'must be an RFC 3339 time' })
      .meta({ description: 'The time of the send, at most a year ahead' }),
    body: boundedRecord(z.string(), z.unknown(), { max: SCHEDULED_FIELDS_MAX }).meta({
      description: 'The body of that send; for edit it also has message_id',
    }),
  })
  .meta({ id: 'ScheduleRequest' });
export type ScheduleBody = z.infer<typeof scheduleBody>;

/**
 * `scheduled`: waits. `claimed`: being sent now. `queued`: a task like any other since then. `failed`: it
 * was refused when its time had come. `cancelled`: deleted before.
 */
export const scheduledStatus = z.enum(['scheduled', 'claimed', 'queued', 'failed', 'cancelled']);

export const scheduledSend = z
  .object({
    id: uuid.meta({ description: 'The message_id of the message that will be sent' }),
    instance_id: uuid,
    type: z.enum(SCHEDULABLE),
    send_at: timestamp,
    status: scheduledStatus,
    body: z.record(z.string(), z.unknown()),
    body_omitted: omitted('body', 'a page of limit=1 has it'),
    idempotency_key: z.string(),
    failed_reason: z.string().nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'ScheduledSend' });
export type ScheduledSend = z.infer<typeof scheduledSend>;

export const scheduleAccepted = z
  .object({
    status: scheduledStatus,
    id: uuid,
    message_id: uuid.meta({
      description:
        'The same as id; the events of the message have it in message_ids[0]. An edit or delete makes no message: its events have the id of the one that it changes, except when it is refused in the end',
    }),
    send_at: timestamp,
    idempotency_key: z.string(),
  })
  .meta({ id: 'ScheduleAccepted' });
export type ScheduleAccepted = z.infer<typeof scheduleAccepted>;

const INSTANCE = '/v1/instances/:instanceId' as const;
const READ = { auth: 'any', access: 'all', notFound: 'INSTANCE_NOT_FOUND' } as const;

/** Sends with a time of their own. */
export const scheduled = {
  create: route(
    {
      ...READ,
      operation: 'scheduled',
      errors: [
        ...MEDIA_SEND_ERRORS,
        'FORWARD_SOURCE_DELETED',
        'EDIT_UNSUPPORTED_TYPE',
        'EDIT_WINDOW_EXPIRED',
        'EDIT_FORWARDED_NOT_ALLOWED',
      ],
      summary: 'Schedule a send of any type',
      description: `The service checks the send now as far as it can (passive mode, quoted message, media source) and again when it is due. A company can have at most ${SCHEDULED_WAITING_MAX} waiting.`,
    },
    {
      method: 'POST',
      path: `${INSTANCE}/messages/scheduled`,
      body: scheduleBody,
      responses: { 202: scheduleAccepted },
    },
  ),
  list: route(
    { ...READ, summary: 'List scheduled sends' },
    {
      method: 'GET',
      path: `${INSTANCE}/messages/scheduled`,
      query: z.object({ status: scheduledStatus.optional(), ...pageQuery(LIST_LIMIT) }),
      responses: { 200: pageOf(scheduledSend).meta({ id: 'ScheduledList' }) },
    },
  ),
  remove: route(
    {
      ...READ,
      errors: ['NOT_FOUND', 'CONFLICT'],
      summary: 'Cancel a scheduled send',
      description: 'CONFLICT once the service has begun to send it.',
    },
    {
      method: 'DELETE',
      path: `${INSTANCE}/messages/scheduled/:scheduledId`,
      responses: { 204: c.noBody() },
    },
  ),
} satisfies AppRouter;
