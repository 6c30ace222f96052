import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { SCHEDULED_WAITING_MAX } from '@posthorn/contract/limits.ts';
import { type Answer, startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

describe('the scheduled sends of a company that wait', () => {
  let messaging: TestMessaging;
  let company: SeededCompany;
  let instances: string[];
  before(async () => {
    messaging = await startTestMessaging();
  });
  after(() => messaging.close());
  beforeEach(async () => {
    const { db } = messaging.parts;
    company = await seedCompany(db);
    instances = await Promise.all([1, 2, 3, 4].map(() => seedInstance(db, company.companyId)));
  });

  function schedule(instanceId: string, of = company, key: string = randomUUID()): Promise<Answer> {
    return messaging.call('POST', `/v1/instances/${instanceId}/messages/scheduled`, {
      key: of.apiKey,
      headers: { 'idempotency-key': key },
      body: { type: 'text', send_at: '2027-06-01T00:00:00Z', body: { to: '5511987654321', text: 'later' } },
    });
  }

  /** Inserts the rows of this many earlier scheduled sends. */
  async function fill(count: number, status = 'scheduled'): Promise<void> {
    await messaging.parts.db.query(
      `INSERT INTO scheduled_sends (id, company_id, instance_id, type, send_at, status, body, idempotency_key, force,
                                    user_id, is_superadmin, created_at)
       SELECT gen_random_uuid(), $1, $2, 'text', now() + interval '1 year', $4, '{}', 'k' || n, false, $5, false, now()
       FROM generate_series(1, $3::int) n`,
      [company.companyId, instances[0], count, status, company.userId],
    );
  }

  async function waiting(): Promise<number> {
    const { rows } = await messaging.parts.db.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM scheduled_sends WHERE company_id = $1 AND status IN ('scheduled', 'claimed')`,
      [company.companyId],
    );
    return rows[0]!.n;
  }

  test('are limited: 403 PLAN_LIMIT_REACHED over all its instances, and one that is cancelled makes room', async () => {
    await fill(SCHEDULED_WAITING_MAX - 1);
    const key = randomUUID();
    const last = await schedule(instances[1]!, company, key);
    assert.equal(last.status, 202, last.text);
    for (const instanceId of instances) {
      const refused = await schedule(instanceId);
      assert.deepEqual([refused.status, refused.body.error_code], [403, 'PLAN_LIMIT_REACHED']);
      assert.match(refused.body.message, /10000/);
    }
    const replayed = await schedule(instances[1]!, company, key);
    assert.deepEqual([replayed.status, replayed.body.id], [202, last.body.id], 'a repeat is no new one');
    assert.equal(await waiting(), SCHEDULED_WAITING_MAX);
    const path = `/v1/instances/${instances[1]}/messages/scheduled/${last.body.id}`;
    assert.equal((await messaging.call('DELETE', path, { key: company.apiKey })).status, 204);
    assert.equal((await schedule(instances[2]!)).status, 202);
  });

  test('are limited exactly when many are scheduled at once', async () => {
    await fill(SCHEDULED_WAITING_MAX - 5);
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => schedule(instances[i % 4]!)));
    assert.equal(answers.filter(({ status }) => status === 202).length, 5);
    assert.equal(answers.filter(({ body }) => body.error_code === 'PLAN_LIMIT_REACHED').length, 35);
    assert.equal(await waiting(), SCHEDULED_WAITING_MAX);
  });

  test('are those that wait: finished ones do not count, and nobody else is limited', async () => {
    for (const status of ['queued', 'failed', 'cancelled']) await fill(SCHEDULED_WAITING_MAX, status);
    assert.equal((await schedule(instances[0]!)).status, 202);
    await fill(SCHEDULED_WAITING_MAX);
    assert.equal((await schedule(instances[0]!)).status, 403);
    const other = await seedCompany(messaging.parts.db);
    assert.equal(
      (await schedule(await seedInstance(messaging.parts.db, other.companyId), other)).status,
      202,
    );
  });
});
