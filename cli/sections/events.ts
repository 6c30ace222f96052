import { type Command, integer, required, text } from '../command.ts';
import { shownEvent } from '../commands/events/shown.ts';
import { tailEvents } from '../commands/events/tail.ts';
import { eventTypes } from '../commands/events/types.ts';
import { createWebhook } from '../commands/webhooks/create.ts';
import { listen } from '../commands/webhooks/listen.ts';
import { updateWebhook, webhookId } from '../commands/webhooks/update.ts';
import { watchDeliveries } from '../commands/webhooks/watch-deliveries.ts';
import { calls, pages } from '../endpoints/calls.ts';

const ATTEMPT_COLUMNS = [
  'id',
  'created_at',
  'event_type',
  'attempt',
  'success',
  'status_code',
  'error_class',
  'webhook_id',
] as const;

export const events: readonly Command[] = [
  tailEvents,
  calls('events list', 'events.list', {
    summary: 'List events, newest first',
    flags: {
      types: eventTypes('names or patterns, e.g. message.*,instance.connected'),
      before: text('cursor', 'only events before this one'),
      after: text('cursor', 'only events after this one, oldest first'),
      limit: integer('n', 'how many, default 50'),
    },
    shows: ({ data }) => data.map((event) => shownEvent(event)).join('\n') || 'no events',
  }),
  calls('events get', 'events.get', {
    summary: 'Show an event',
    args: { eventId: required(text('id', 'its event_id')) },
  }),
  calls('events ticket', 'events.ticket'),
  createWebhook,
  calls('webhooks list', 'webhooks.list', {
    summary: 'List the webhooks, newest first',
    flags: pages(50),
    columns: ['id', 'url', 'events', 'instance_id', 'enabled'],
    nothing: 'no webhooks',
  }),
  calls('webhooks get', 'webhooks.get', { summary: 'Show a webhook', args: { webhookId } }),
  updateWebhook,
  calls('webhooks delete', 'webhooks.remove', {
    summary: 'Delete a webhook',
    destroys: 'This deletes the webhook',
    args: { webhookId },
    done: ({ webhookId: id }) => [{ id, deleted: true }, `deleted webhook ${id}`],
  }),
  calls('webhooks logs', 'webhooks.logs', {
    summary: 'List the delivery attempts of a webhook, newest first',
    args: { webhookId },
    flags: pages(20),
    columns: ATTEMPT_COLUMNS,
    nothing: 'no attempts',
  }),
  listen,
  calls('webhooks rotate-secret', 'webhooks.rotateSecret', {
    destroys: 'This ends the secret of the webhook in 24 hours',
  }),
  calls('webhooks test', 'webhooks.test'),
  calls('webhooks replay', 'webhooks.retryLog'),
  calls('deliveries', 'webhooks.eventDeliveries', {
    summary: 'List the delivery attempts of an event, oldest first',
    details: 'For the attempts of a webhook: msgctl webhooks logs <id>',
    args: { event_id: required(text('event id', 'the event_id of the event')) },
    columns: ATTEMPT_COLUMNS,
    nothing: 'no attempts',
  }),
  watchDeliveries,
  calls('deliveries replay', 'deliveries.retryBulk'),
  calls('deliveries events', 'deliveries.events'),
  calls('deliveries instance-events', 'deliveries.instanceEvents'),
  calls('deliveries stuck', 'deliveries.stuck'),
  calls('deliveries metrics', 'deliveries.metrics'),
  calls('deliveries instance-metrics', 'deliveries.instanceMetrics'),
  calls('deliveries logs', 'deliveries.logs'),
  calls('deliveries company-logs', 'deliveries.companyLogs'),
];
