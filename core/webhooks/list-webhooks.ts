import type { Webhook as WebhookView } from '@posthorn/contract/messaging/webhooks.ts';
import type { Orm } from '../platform/database/orm.ts';
import { offsetOf } from '../platform/database/paging.ts';
import type { Cipher } from '../platform/encryption.ts';
import { WebhookSchema } from './entities.ts';
import { webhookView } from './webhook-view.ts';

/** The webhooks of a company, newest first. An offset serves: a plan bounds how many there are. */
export async function listWebhooks(
  deps: { orm: Orm; cipher: Cipher },
  input: { companyId: number; page: number; limit: number },
): Promise<{ data: WebhookView[]; total: number }> {
  const [found, total] = await deps.orm
    .forCompany(input.companyId)
    .findAndCount(
      WebhookSchema,
      {},
      { orderBy: { id: 'desc' }, limit: input.limit, offset: offsetOf(input) },
    );
  return { data: found.map((webhook) => webhookView(deps.cipher, webhook)), total };
}
