import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { pageOf, pageQuery, timestamp, uuid } from '../fields.ts';
import { LIST_LIMIT } from '../limits.ts';
import { MESSAGE_TYPES } from '../message-types.ts';
import { route } from '../route-meta.ts';

export const queueTask = z
  .object({
    task_id: uuid,
    operation: z.string(),
    message_id: uuid.meta({
      description: 'The UUID of the message to send, or of the message that delete or edit changes',
    }),
    message_type: z.enum(MESSAGE_TYPES),
    chat_jid: z.string(),
    created_at: timestamp,
    typing_until: timestamp.nullable().meta({
      description: 'The time until which typing is shown, while the tasks behind it wait; else null',
    }),
  })
  .meta({ id: 'QueueTask' });
export type QueueTask = z.infer<typeof queueTask>;

const INSTANCE = '/v1/instances/:instanceId' as const;
const QUEUE = { auth: 'any', access: 'owner_admin', notFound: 'INSTANCE_NOT_FOUND' } as const;
const CANCELLED =
  'Each cancelled send is reported as <type>.delivery_failed with reason cancelled and wire_state not_sent.';

/** Messages that are accepted and not sent yet. */
export const queue = {
  list: route(
    { ...QUEUE, summary: 'List the queue of an instance', description: 'Tasks are in the order of sending.' },
    {
      method: 'GET',
      path: `${INSTANCE}/queue`,
      query: z.object(pageQuery(LIST_LIMIT)),
      responses: { 200: pageOf(queueTask).meta({ id: 'Queue' }) },
    },
  ),
  count: route(
    { ...QUEUE, summary: 'Count the queued tasks of an instance' },
    {
      method: 'GET',
      path: `${INSTANCE}/queue/count`,
      responses: { 200: z.object({ count: z.int() }).meta({ id: 'QueueCount' }) },
    },
  ),
  cancel: route(
    {
      ...QUEUE,
      errors: ['NOT_FOUND', 'CONFLICT'],
      summary: 'Cancel one queued task',
      description: `CONFLICT while the task is being sent. ${CANCELLED}`,
    },
    {
      method: 'DELETE',
      path: `${INSTANCE}/queue/:taskId`,
      responses: { 200: z.object({ task_id: uuid, cancelled: z.literal(true) }).meta({ id: 'Cancelled' }) },
    },
  ),
  clear: route(
    {
      ...QUEUE,
      summary: 'Cancel all queued tasks',
      description: `Skips tasks that are being sent. ${CANCELLED}`,
    },
    {
      method: 'DELETE',
      path: `${INSTANCE}/queue`,
      responses: { 200: z.object({ cancelled: z.int() }).meta({ id: 'QueueCleared' }) },
    },
  ),
} satisfies AppRouter;
