import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { InstanceSettings } from './settings.ts';

/**
 * An account on the messaging network, as the API sees it. The credentials are not mapped: only the
 * worker that holds the session reads them, in plain SQL.
 */
export const InstanceSchema = defineEntity({
  name: 'Instance',
  tableName: 'instances',
  properties: {
    id: p.uuid().primary(),
    companyId: p.integer(),
    name: p.text(),
    driver: p.text(),
    shard: p.smallint(),
    state: p.enum(['CREATED', 'PAIRING', 'CONNECTED', 'DISCONNECTED', 'HARD_PAUSED', 'BANNED']),
    desired: p.enum(['connected', 'disconnected', 'logged_out']).fieldName('wanted'),
    generation: p.integer(),
    /** Only what was set; `settingsOf` puts it over the defaults. */
    settings: p.json<Partial<InstanceSettings>>(),
    phone: p.text().nullable(),
    jid: p.text().nullable(),
    pushName: p.text().nullable(),
    lastError: p.text().nullable(),
    restriction: p.text().nullable(),
    /** The way out, sealed. */
    proxy: p.blob().nullable().lazy(),
    /** The same without its password. */
    proxyShown: p.text().nullable(),
    connectedAt: p.datetime().nullable(),
    stateSince: p.datetime(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});
export type Instance = InferEntity<typeof InstanceSchema>;

export const InstanceTransitionSchema = defineEntity({
  name: 'InstanceTransition',
  tableName: 'instance_moves',
  properties: {
    id: p.bigint('number').primary(),
    companyId: p.integer(),
    instanceId: p.uuid(),
    fromState: p.enum(['CREATED', 'PAIRING', 'CONNECTED', 'DISCONNECTED', 'HARD_PAUSED', 'BANNED']),
    toState: p.enum(['CREATED', 'PAIRING', 'CONNECTED', 'DISCONNECTED', 'HARD_PAUSED', 'BANNED']),
    reason: p.text().nullable(),
    createdAt: p.datetime(),
  },
});

/** The code to scan or to type while an instance pairs. */
export const InstancePairingSchema = defineEntity({
  name: 'InstancePairing',
  tableName: 'instance_pairings',
  properties: {
    instanceId: p.uuid().primary(),
    companyId: p.integer(),
    qr: p.text().nullable(),
    qrExpiresAt: p.datetime().nullable(),
    codePhone: p.text().nullable(),
    code: p.text().nullable(),
    codeError: p.text().nullable(),
  },
});
