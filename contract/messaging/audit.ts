import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { beforeQuery, integerId, integerQuery, timestamp, uuid } from '../fields.ts';
import { LIST_LIMIT } from '../limits.ts';
import { route } from '../route-meta.ts';

export const auditEntry = z
  .object({
    id: integerId,
    action: z.string().meta({ examples: ['token.revoked'] }),
    user_id: integerId
      .nullable()
      .meta({ description: 'The id of the user who did it; null when nobody was logged in' }),
    token_id: integerId
      .nullable()
      .meta({ description: 'The id of the API key that was used; null without one' }),
    instance_id: uuid.nullable(),
    detail: z.record(z.string(), z.unknown()),
    trace_id: uuid.nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntryDto = z.infer<typeof auditEntry>;

export const audit = {
  list: route(
    { auth: 'any', access: 'owner', summary: 'Read the audit log', description: 'Newest first.' },
    {
      method: 'GET',
      path: '/v1/audit',
      query: z.object({
        action: z.string().min(1).max(100).optional(),
        before: beforeQuery,
        limit: integerQuery(LIST_LIMIT),
      }),
      responses: {
        200: z
          .object({ data: z.array(auditEntry), next_before: integerId.nullable() })
          .meta({ id: 'AuditLog' }),
      },
    },
  ),
} satisfies AppRouter;
