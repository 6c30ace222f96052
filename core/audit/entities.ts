import { defineEntity, p } from '@mikro-orm/core';

export const AuditEntrySchema = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_log',
  properties: {
    // Below 2^53 for as long as anybody will run this.
    id: p.bigint('number').primary(),
    companyId: p.integer(),
    userId: p.integer().nullable(),
    tokenId: p.integer().nullable(),
    action: p.text(),
    instanceId: p.uuid().nullable(),
    detail: p.json(),
    traceId: p.uuid().nullable(),
    createdAt: p.datetime(),
  },
});
