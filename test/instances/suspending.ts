import { randomUUID } from 'node:crypto';
import { applyPlanLimits } from '@posthorn/core/accounts/company/apply-plan-limits.ts';
import { setCompanyStatus } from '@posthorn/core/accounts/company/set-company-status.ts';
import { newApiKey } from '@posthorn/core/accounts/tokens/api-key.ts';
import type { Answer } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending } from '../support/sending.ts';
import { createTestClock, type TestClock } from '../support/test-clock.ts';

interface InstanceRow {
  state: string;
  wanted: string;
  phone: string | null;
  settings: object;
}

/** The whole pipeline, and the means to suspend its company. */
export interface Suspending {
  clock: TestClock;
  pipeline: Sending;
  setStatus(status: 'active' | 'suspended'): Promise<void>;
  suspendSubscription(suspended: boolean): Promise<void>;
  row(instanceId: string): Promise<InstanceRow>;
  stateBecomes(state: string, instanceId: string): Promise<unknown>;
  /** Asks as a superadmin, whom no check of the company stops. */
  asRoot(instanceId: string, method: string, path: string, body?: unknown): Promise<Answer>;
  /** How many messages to `phone` have reached the network. */
  ledgerOf(phone: string): Promise<number>;
}

/** Long enough for an unwanted effect to happen: notifications take milliseconds. */
export const aWhile = () => new Promise((resolve) => setTimeout(resolve, 400));

export async function startSuspending(): Promise<Suspending> {
  const clock = createTestClock(new Date());
  const pipeline = await startSending({ clock, env: { SUPERADMIN_EMAILS: 'root@example.test' } });
  const { db } = pipeline.api.parts;
  const root = await superadminKey(pipeline);
  const { companyId, userId } = pipeline.company;
  let version = 1;

  async function row(id: string): Promise<InstanceRow> {
    const { rows } = await db.query<InstanceRow & Record<string, unknown>>(
      'SELECT state, wanted, phone, settings FROM instances WHERE id = $1',
      [id],
    );
    return rows[0]!;
  }

  return {
    clock,
    pipeline,
    row,
    async setStatus(status) {
      const change = { companyId, status, by: { userId }, traceId: null };
      await setCompanyStatus({ db, clock, forget: () => undefined }, change);
    },
    async suspendSubscription(suspended) {
      version += 1;
      await applyPlanLimits({ db, clock }, { company_id: companyId, version, limits: null, suspended });
      // It brought the free plan's limits, which no test here reaches.
      await db.query(
        'UPDATE companies SET requests_per_minute = 1000000, max_instances = 10000 WHERE id = $1',
        [companyId],
      );
    },
    stateBecomes: (state, id) =>
      waitFor(async () => (await row(id)).state === state, undefined, { what: `${id} to be ${state}` }),
    asRoot: (id, method, path, body) =>
      pipeline.api.call(method, `/v1/instances/${id}${path}`, {
        key: root,
        headers: { 'idempotency-key': randomUUID() },
        ...(body === undefined ? {} : { body }),
      }),
    ledgerOf: async (phone) => (await pipeline.sandbox.get(`/ledger?to=${phone}`)).total,
  };
}

async function superadminKey(pipeline: Sending): Promise<string> {
  const { db } = pipeline.api.parts;
  const { rows } = await db.query<{ id: number }>(
    `INSERT INTO users (company_id, email, name, role, is_superadmin, email_verified_at)
     VALUES (1, 'root@example.test', 'Root', 'superadmin', true, now())
     ON CONFLICT (lower(email)) DO UPDATE SET is_superadmin = true RETURNING id`,
  );
  const { key, hash, last4 } = newApiKey();
  await db.query(
    `INSERT INTO api_tokens (company_id, user_id, name, key_hash, last4) VALUES (1, $1, 'root', $2, $3)`,
    [rows[0]!.id, hash, last4],
  );
  return key;
}
