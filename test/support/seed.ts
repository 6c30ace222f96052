import { randomUUID } from 'node:crypto';
import type { Principal } from '@posthorn/core/access/principal.ts';
import { newApiKey } from '@posthorn/core/accounts/tokens/api-key.ts';
import type { InstanceSettings } from '@posthorn/core/instances/settings.ts';
import { DEFAULT_SHARDS, shardOf } from '@posthorn/core/instances/shard.ts';
import type { Sql } from '@posthorn/core/platform/database/db.ts';
import { newId } from '@posthorn/core/platform/ids.ts';

export interface SeededCompany {
  companyId: number;
  userId: number;
  apiKey: string;
  principal: Principal;
}

/** A company with a verified owner and a key, written straight into the tables. */
export async function seedCompany(
  sql: Sql,
  options: { requestsPerMinute?: number; role?: 'owner' | 'admin' | 'agent' } = {},
): Promise<SeededCompany> {
  const name = `company ${randomUUID()}`;
  const requestsPerMinute = options.requestsPerMinute ?? 1_000_000;
  const role = options.role ?? 'owner';
  const company = await sql.query<{ id: number }>(
    `INSERT INTO companies (name, slug, requests_per_minute, max_instances, max_webhooks, max_users, storage_mb)
     VALUES ($1, $2, $3, 10000, 10000, 10000, 1000000) RETURNING id`,
    [name, name.replace(' ', '-'), requestsPerMinute],
  );
  const companyId = company.rows[0]!.id;
  const user = await sql.query<{ id: number }>(
    `INSERT INTO users (company_id, email, name, role, email_verified_at) VALUES ($1, $2, 'Owner', $3, now())
     RETURNING id`,
    [companyId, `${randomUUID()}@example.test`, role],
  );
  const userId = user.rows[0]!.id;
  const { key, hash, last4 } = newApiKey();
  const token = await sql.query<{ id: number }>(
    `INSERT INTO api_tokens (company_id, user_id, name, key_hash, last4) VALUES ($1, $2, 'seed', $3, $4) RETURNING id`,
    [companyId, userId, hash, last4],
  );
  const principal: Principal = {
    companyId,
    userId,
    role,
    isSuperadmin: false,
    via: 'key',
    tokenId: token.rows[0]!.id,
    jti: null,
    endsAtMs: null,
    emailVerified: true,
    requestsPerMinute,
  };
  return { companyId, userId, apiKey: key, principal };
}

/** A session without its refresh token: a JWT that a test signs needs it to be valid. */
export async function seedSession(
  sql: Sql,
  user: { companyId: number; userId: number },
): Promise<{ familyId: string; sessionEndsAt: Date }> {
  const familyId = newId();
  await sql.query(
    'INSERT INTO refresh_families (id, company_id, user_id, created_at) VALUES ($1, $2, $3, now())',
    [familyId, user.companyId, user.userId],
  );
  // Later than every test, whatever it does to its clock.
  return { familyId, sessionEndsAt: new Date('2999-01-01') };
}

/** An instance row in the state the test needs; a worker opens its session when `wanted` says so. */
export async function seedInstance(
  sql: Sql,
  companyId: number,
  options: { state?: string; wanted?: string; settings?: Partial<InstanceSettings> } = {},
): Promise<string> {
  const id = newId();
  await sql.query(
    `INSERT INTO instances (id, company_id, name, driver, shard, state, wanted, settings)
     VALUES ($1, $2, $3, 'sandbox', $4, $5, $6, $7)`,
    [
      id,
      companyId,
      `instance ${id}`,
      shardOf(id, DEFAULT_SHARDS),
      options.state ?? 'CONNECTED',
      options.wanted ?? 'disconnected',
      options.settings ?? {},
    ],
  );
  return id;
}
