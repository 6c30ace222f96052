import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/** A subscription to events. Secrets and headers are sealed (platform/encryption.ts). */
export const WebhookSchema = defineEntity({
  name: 'Webhook',
  tableName: 'webhooks',
  properties: {
    id: p.integer().primary(),
    companyId: p.integer(),
    /** Null: every instance of the company. */
    instanceId: p.uuid().nullable(),
    url: p.text(),
    patterns: p.array().columnType('text[]'),
    /** Sealed `Record<string, string>`; null: none. */
    headers: p.blob().nullable(),
    enabled: p.boolean(),
    disabledReason: p.text().nullable(),
    /** Sealed `whsec_...`. */
    secret: p.blob().lazy(),
    previousSecret: p.blob().nullable().lazy(),
    previousSecretExpiresAt: p.datetime().nullable(),
    earlierSecrets: p.blob().nullable().lazy(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});
export type Webhook = InferEntity<typeof WebhookSchema>;
