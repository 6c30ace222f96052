import type { AuditEntryDto } from '@posthorn/contract/messaging/audit.ts';
import type { Orm } from '../platform/database/orm.ts';
import { cutPage } from '../platform/database/paging.ts';
import { AuditEntrySchema } from './entities.ts';

/** The audit log of a company, newest first, by keyset: it only grows. `nextBefore` null: that was all. */
export async function listAudit(
  deps: { orm: Orm },
  input: { companyId: number; action?: string | undefined; before?: number | undefined; limit: number },
): Promise<{ data: AuditEntryDto[]; nextBefore: number | null }> {
  const em = deps.orm.forCompany(input.companyId);
  const entries = await em.find(
    AuditEntrySchema,
    {
      ...(input.action === undefined ? {} : { action: input.action }),
      ...(input.before === undefined ? {} : { id: { $lt: input.before } }),
    },
    { orderBy: { id: 'desc' }, limit: input.limit + 1 },
  );
  const { page, last } = cutPage(entries, input.limit);
  return {
    data: page.map((entry) => ({
      id: entry.id,
      action: entry.action,
      user_id: entry.userId ?? null,
      token_id: entry.tokenId ?? null,
      instance_id: entry.instanceId ?? null,
      detail: entry.detail as Record<string, unknown>,
      trace_id: entry.traceId ?? null,
      created_at: entry.createdAt.toISOString(),
    })),
    nextBefore: last?.id ?? null,
  };
}
