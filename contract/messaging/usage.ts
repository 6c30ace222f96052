import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { timestamp, uuid } from '../fields.ts';
import { USAGE_INSTANCES_MAX } from '../limits.ts';
import { route } from '../route-meta.ts';
import { instanceState } from './instances.ts';

const count = z.int().nonnegative();

/** Counts of the last 24 hours. */
export const usageCounts = z
  .object({
    messages_today: count,
    messages_sent_today: count,
    messages_received_today: count,
    delivered_today: count.meta({ description: 'Outbound messages delivered in the last 24 hours' }),
    failed_today: count.meta({ description: 'Outbound messages that failed in the last 24 hours' }),
  })
  .meta({ id: 'Usage' });
export type UsageCounts = z.infer<typeof usageCounts>;

const counted = {
  sent: count.meta({ description: 'The number of outbound messages that the network accepted' }),
  received: count.meta({ description: 'The number of inbound messages' }),
  delivered: count.meta({ description: 'The number of outbound messages that were delivered' }),
  failed: count.meta({ description: 'The number of outbound messages that failed' }),
};
const limited = (what: string) =>
  z
    .object({ used: count.meta({ description: 'The amount in use now' }), limit: count })
    .meta({ description: what });

/** The messages of a company by hour and by instance, and how much of its plan it uses. */
export const companyUsage = z
  .object({
    since: timestamp.meta({ description: 'When the oldest hour began' }),
    hours: z
      .array(z.object({ at: timestamp.meta({ description: 'When the hour began' }), ...counted }))
      .meta({ description: 'The counts of 24 hours in UTC, oldest first; the last hour is still running' }),
    instances: z
      .array(
        z.object({
          instance_id: uuid,
          name: z.string(),
          state: instanceState.meta({ description: 'The present state' }),
          driver: z.string().meta({ description: 'The messaging network', examples: ['sandbox'] }),
          phone: z.string().nullable(),
          ...counted,
        }),
      )
      .meta({
        description: `The instances, newest first, with their counts of these hours; ${USAGE_INSTANCES_MAX} at most`,
      }),
    plan: z
      .object({
        instances: limited('Instances of the company'),
        users: limited('Users of the company, invited ones included'),
        webhooks: limited('Webhooks of the company'),
        storage_bytes: limited('Bytes of stored media'),
        requests_per_minute: count.meta({
          description: 'The number of requests that the company may make in a minute',
        }),
      })
      .meta({ description: 'The limits of the plan, and how much of them the company uses' }),
  })
  .meta({ id: 'CompanyUsage' });
export type CompanyUsage = z.infer<typeof companyUsage>;

export const usage = {
  company: route(
    {
      auth: 'any',
      access: 'all',
      summary: 'Read the usage of the company',
      description:
        'Open to every role, so that agents know which instances can send messages. A superadmin gets the usage of their own company.',
    },
    { method: 'GET', path: '/v1/usage', responses: { 200: companyUsage } },
  ),
  get: route(
    {
      auth: 'any',
      access: 'all',
      notFound: 'INSTANCE_NOT_FOUND',
      summary: 'Read the usage of an instance in the last 24 hours',
    },
    { method: 'GET', path: '/v1/instances/:instanceId/usage', responses: { 200: usageCounts } },
  ),
} satisfies AppRouter;
