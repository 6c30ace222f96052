import { defineEntity, p } from '@mikro-orm/core';

/** The visible fields of a user; plain SQL reads and writes hashes and sessions. */
export const UserSchema = defineEntity({
  name: 'User',
  tableName: 'users',
  properties: {
    id: p.integer().primary(),
    companyId: p.integer(),
    email: p.text(),
    name: p.text(),
    role: p.enum(['owner', 'admin', 'agent', 'superadmin']),
    /** The hash itself stays in the database. */
    hasPassword: p.boolean().formula((cols) => `${cols}.password_hash IS NOT NULL`),
    emailVerifiedAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});

export const ApiTokenSchema = defineEntity({
  name: 'ApiToken',
  tableName: 'api_tokens',
  properties: {
    id: p.integer().primary(),
    companyId: p.integer(),
    userId: p.integer(),
    name: p.text(),
    last4: p.text(),
    createdAt: p.datetime(),
    lastUsedAt: p.datetime().nullable(),
    revokedAt: p.datetime().nullable(),
  },
});
