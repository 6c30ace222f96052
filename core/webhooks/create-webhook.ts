import { randomBytes } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { CreatedWebhook, CreateWebhookBody } from '@posthorn/contract/messaging/webhooks.ts';
import { FREE_LIMITS } from '../access/free-limits.ts';
import { requireInstance } from '../access/instance-scope.ts';
import { lockPrincipal } from '../access/lock-principal.ts';
import type { Principal } from '../access/principal.ts';
import { isForeignKeyViolation } from '../platform/database/database-errors.ts';
import type { Orm } from '../platform/database/orm.ts';
import type { Cipher } from '../platform/encryption.ts';
import type { Clock } from '../platform/process/clock.ts';
import { checkWebhookHeaders, checkWebhookUrl, type WebhookPolicy } from './check-webhook.ts';
import { WebhookSchema } from './entities.ts';
import { sealHeaders, webhookView } from './webhook-view.ts';

/**
 * Subscribes an endpoint to events. The secret is in this answer and never again. 400 WEBHOOK_URL_INVALID,
 * WEBHOOK_URL_BLOCKED, BAD_REQUEST (headers); 404 INSTANCE_NOT_FOUND; 403 PLAN_LIMIT_REACHED.
 */
export async function createWebhook(
  deps: { orm: Orm; clock: Clock; cipher: Cipher; policy: WebhookPolicy },
  input: { principal: Principal; body: CreateWebhookBody },
): Promise<CreatedWebhook> {
  const { body } = input;
  const { companyId } = input.principal;
  checkWebhookUrl(body.url, deps.policy);
  checkWebhookHeaders(body.headers);
  const secret = newSecret();
  const webhook = await deps.orm.forCompany(companyId).transactional(async (em) => {
    await lockPrincipal(em, input.principal);
    await checkOwnInstance(em, companyId, body.instance_id);
    await checkLimit(em, companyId);
    const now = deps.clock.now();
    const created = em.create(WebhookSchema, {
      companyId,
      instanceId: body.instance_id,
      url: body.url,
      patterns: body.events,
      headers: sealHeaders(deps.cipher, body.headers),
      enabled: body.enabled,
      secret: deps.cipher.seal(secret),
      createdAt: now,
      updatedAt: now,
    });
    em.persist(created);
    await em.flush().catch(refuseGoneInstance);
    return created;
  });
  return { ...webhookView(deps.cipher, webhook), secret };
}

/** Standard Webhooks: `whsec_` and the base64 of 24 random bytes. */
export function newSecret(): string {
  return `whsec_${randomBytes(24).toString('base64')}`;
}

/** Throws 404 INSTANCE_NOT_FOUND unless the company has the instance; null names none. */
export async function checkOwnInstance(
  em: EntityManager,
  companyId: number,
  instanceId: string | null,
): Promise<void> {
  if (instanceId !== null) await requireInstance(em, { companyId, isSuperadmin: false }, instanceId);
}

/** For a write that failed: 404 INSTANCE_NOT_FOUND when the instance was deleted after {@link checkOwnInstance} had found it. */
export function refuseGoneInstance(err: unknown): never {
  if (isForeignKeyViolation(err)) throw apiError('INSTANCE_NOT_FOUND', { cause: err });
  throw err;
}

/** As for instances: the lock on the company's row makes the count hold until the commit. */
async function checkLimit(em: EntityManager, companyId: number): Promise<void> {
  const [company] = await em.execute<{ max_webhooks: number | null }[]>(
    'SELECT max_webhooks FROM companies WHERE id = ? FOR NO KEY UPDATE',
    [companyId],
  );
  const limit = company?.max_webhooks ?? FREE_LIMITS.webhooks;
  if ((await em.count(WebhookSchema, {})) >= limit)
    throw apiError('PLAN_LIMIT_REACHED', { message: `your plan allows ${limit} webhooks` });
}
