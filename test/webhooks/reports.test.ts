import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { DeliveredEvent } from '@posthorn/contract/messaging/deliveries.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import fc from 'fast-check';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';
import { seedWebhook } from './support.ts';

let messaging: TestMessaging;
before(async () => {
  messaging = await startTestMessaging({ SUPERADMIN_EMAILS: 'root@platform.test' });
});
after(() => messaging.close());

const RUNS = process.env.POSTHORN_FULL ? 200 : 25;
const HOUR_MS = 3_600_000;
const HARD = ['permanent_4xx', 'payload_rejected'];

/** One attempt of a random history, as small numbers; {@link write} makes it real. */
const attempt = fc.record({
  event: fc.nat(12),
  webhook: fc.nat(3),
  attempt: fc.integer({ min: 1, max: 5 }),
  errorClass: fc.constantFrom('', '', 'permanent_4xx', 'payload_rejected', 'timeout', 'server_5xx'),
  /** Hours before now; the histories are longer than every period. */
  ageHours: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 200 })),
});

interface Log {
  id: number;
  companyId: number;
  webhookId: number;
  eventId: string;
  eventType: string;
  instanceId: string | null;
  attempt: number;
  errorClass: string;
  createdAt: Date;
  hasPayload: boolean;
}

interface World {
  company: SeededCompany;
  instances: string[];
  webhooks: { id: number; instanceId: string | null; enabled: boolean }[];
  logs: Log[];
}

type Entry = Omit<Parameters<Parameters<typeof attempt.map>[0]>[0], 'errorClass'> & { errorClass: string };

async function write(history: readonly Entry[]): Promise<World> {
  const { db, clock } = messaging.parts;
  const company = await seedCompany(db);
  const { companyId } = company;
  const instances = [await seedInstance(db, companyId), await seedInstance(db, companyId)];
  const webhooks = [];
  for (const [instanceId, enabled] of [
    [null, true],
    [null, false],
    [instances[0]!, true],
    [instances[1]!, true],
  ] as const) {
    const options = { enabled, ...(instanceId === null ? {} : { instanceId }) };
    const { id } = await seedWebhook(db, companyId, `https://example.test/${companyId}`, options);
    webhooks.push({ id, instanceId, enabled });
  }
  const now = clock.now();
  const events = Array.from({ length: 13 }, (_, index) => ({
    eventId: newId(),
    instanceId: [instances[0]!, instances[1]!, null][index % 3]!,
    type: ['message.sent', 'message.read'][index % 2]!,
    // Every fourth is past its retention, and one of those is already dropped.
    createdAt: new Date(now.getTime() - (index % 4 === 3 ? 15 * 24 : 1) * HOUR_MS),
    kept: index !== 7,
  }));
  for (const event of events.filter(({ kept }) => kept))
    await db.query(
      `INSERT INTO events (tx, event_id, company_id, instance_id, type, data, created_at)
       VALUES (event_tx(), $1, $2, $3, $4, '{"n": 1}', $5)`,
      [event.eventId, companyId, event.instanceId, event.type, event.createdAt],
    );
  const logs: Log[] = [];
  for (const entry of history) {
    const event = events[entry.event]!;
    const webhookId = webhooks[entry.webhook]!.id;
    const createdAt = new Date(now.getTime() - entry.ageHours * HOUR_MS - 1);
    const { rows } = await db.query<{ id: number }>(
      `INSERT INTO webhook_delivery_logs (company_id, webhook_id, webhook_url, instance_id, event_id, event_type,
         event_created_at, attempt, success, status_code, error_class, response, latency_ms, created_at)
       VALUES ($1, $2, 'https://example.test', $3, $4, $5, $6, $7, $8, $9, $10, 'answer', 1, $11) RETURNING id`,
      [
        companyId,
        webhookId,
        event.instanceId,
        event.eventId,
        event.type,
        event.createdAt,
        entry.attempt,
        entry.errorClass === '',
        entry.errorClass === 'timeout' ? null : 200,
        entry.errorClass,
        createdAt,
      ],
    );
    logs.push({
      id: rows[0]!.id,
      companyId,
      webhookId,
      eventId: event.eventId,
      eventType: event.type,
      instanceId: event.instanceId,
      attempt: entry.attempt,
      errorClass: entry.errorClass,
      createdAt,
      hasPayload: event.kept && now.getTime() - event.createdAt.getTime() < 14 * 24 * HOUR_MS,
    });
  }
  return { company, instances, webhooks, logs };
}

/** The superadmin that the server makes at its start. */
async function rootJwt(): Promise<string> {
  const { rows } = await messaging.parts.db.query<{ id: number }>(
    `SELECT id FROM users WHERE email = 'root@platform.test'`,
  );
  const anybody = await seedCompany(messaging.parts.db);
  const principal = { ...anybody.principal, companyId: 1, userId: rows[0]!.id, role: 'superadmin' as const };
  return messaging.jwtOf(
    { companyId: 1, userId: principal.userId, apiKey: '', principal },
    { isSuperadmin: true },
  );
}

const get = async (world: World, path: string) => {
  const answer = await messaging.call('GET', path, { key: world.company.apiKey });
  assert.equal(answer.status, 200, `${path}: ${answer.text}`);
  return answer.body;
};

/** WHK-19 to WHK-23, by reading every log. */
function within(world: World, hours: number, instanceId?: string): Log[] {
  const since = messaging.parts.clock.now().getTime() - hours * HOUR_MS;
  const isGlobal = (id: number) => world.webhooks.find((webhook) => webhook.id === id)!.instanceId === null;
  return world.logs.filter(
    (log) =>
      log.createdAt.getTime() >= since &&
      (instanceId === undefined ||
        log.instanceId === instanceId ||
        (log.instanceId === null && isGlobal(log.webhookId))),
  );
}

const byEvent = (log: Log) => log.eventId;
const byDelivery = (log: Log) => `${log.eventId} ${log.webhookId}`;

function aggregate(logs: readonly Log[], rowOf: (log: Log) => string = byEvent) {
  const events = [...Map.groupBy(logs, rowOf).values()].map((attempts) => {
    const latest = attempts.reduce((a, b) => (b.id > a.id ? b : a));
    const count = Math.max(...attempts.map((log) => log.attempt));
    return {
      log_id: latest.id,
      webhook_id: latest.webhookId,
      event_id: latest.eventId,
      event_type: latest.eventType,
      attempts: count,
      success: latest.errorClass === '',
      error_class: latest.errorClass,
      is_hard_failed: HARD.includes(latest.errorClass) && count >= 3,
      has_payload_raw: latest.hasPayload,
      payload_raw_json_valid: latest.hasPayload,
      created_at: latest.createdAt.toISOString(),
    };
  });
  return events.toSorted((a, b) => b.log_id - a.log_id);
}

/** WHK-20: judged by the attempts at each webhook. */
function stuckOf(logs: readonly Log[]) {
  return aggregate(logs, byDelivery).filter((delivery) => delivery.is_hard_failed);
}

function shown(row: DeliveredEvent) {
  const { webhook_url: _, status_code: __, response: ___, payload_raw_size: size, ...rest } = row;
  assert.equal(size > 0, row.has_payload_raw);
  return rest;
}

function metricsOf(logs: readonly Log[]) {
  const successes = logs.filter((log) => log.errorClass === '').length;
  return {
    total: logs.length,
    successes,
    failures: logs.length - successes,
    success_rate: logs.length === 0 ? 100 : Math.round((successes / logs.length) * 10_000) / 100,
  };
}

/** Counts for each hour of the period. */
function hoursOf(logs: readonly Log[], hours: number) {
  const nowMs = messaging.parts.clock.now().getTime();
  const last = Math.floor(nowMs / HOUR_MS);
  const first = Math.floor((nowMs - hours * HOUR_MS) / HOUR_MS);
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const ofHour = logs.filter((log) => Math.floor(log.createdAt.getTime() / HOUR_MS) === first + index);
    const { successes, failures } = metricsOf(ofHour);
    return { at: new Date((first + index) * HOUR_MS).toISOString(), successes, failures };
  });
}

test('events, stuck and metrics agree with a reading of every attempt, for any history', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(attempt, { maxLength: 40 }),
      fc.constantFrom(1, 24, 168),
      async (history, hours) => {
        const world = await write(history);
        const views = [
          ['/v1/webhooks/events?', undefined],
          [`/v1/webhooks/instance-events?instance_id=${world.instances[0]}&`, world.instances[0]],
          [`/v1/webhooks/instance-events?instance_id=${world.instances[1]}&`, world.instances[1]],
        ] as const;
        for (const [path, instanceId] of views) {
          const logs = within(world, hours, instanceId);
          const all = aggregate(logs);
          const expected = {
            all,
            success: all.filter((event) => event.success),
            failure: all.filter((event) => !event.success),
            stuck: stuckOf(logs),
          };
          for (const [status, events] of Object.entries(expected)) {
            const page = await get(world, `${path}status=${status}&hours=${hours}&limit=200`);
            assert.deepEqual(page.data.map(shown), events, `${path} ${status} ${hours}`);
            assert.equal(page.total, events.length);
          }
          const second = await get(world, `${path}hours=${hours}&limit=3&page=2`);
          assert.deepEqual(second.data.map(shown), all.slice(3, 6));
          assert.deepEqual([second.total, second.page, second.limit], [all.length, 2, 3]);
        }
        const stuck = await get(world, `/v1/webhooks/stuck?hours=${hours}`);
        assert.deepEqual(stuck.data.map(shown), stuckOf(within(world, hours)));
        const everStuck = await get(world, '/v1/webhooks/stuck');
        assert.deepEqual(everStuck.data.map(shown), stuckOf(world.logs), 'however long ago');

        for (const instanceId of world.instances) {
          const logs = within(world, hours, instanceId);
          const pending = [...Map.groupBy(logs, byDelivery).values()].filter((attempts) =>
            attempts.some(
              (failure) =>
                failure.errorClass !== '' &&
                !attempts.some((later) => later.errorClass === '' && later.id > failure.id),
            ),
          );
          const metrics = await get(
            world,
            `/v1/webhooks/instance-metrics?instance_id=${instanceId}&hours=${hours}`,
          );
          assert.deepEqual(metrics, {
            instance_id: instanceId,
            period_hours: hours,
            ...metricsOf(logs),
            stuck_pending: new Set(pending.map(([log]) => log!.eventId)).size,
            configured_webhooks: 3,
            active_webhooks: 2,
          });
        }
        const byWebhook = await get(world, `/v1/webhooks/metrics?hours=${hours}`);
        assert.equal(byWebhook.period_hours, hours);
        assert.deepEqual(
          byWebhook.webhooks.map((row: Record<string, unknown>) => row.webhook_id),
          world.webhooks.map((webhook) => webhook.id),
          'those without deliveries too',
        );
        for (const row of byWebhook.webhooks) {
          const { webhook_id: id, total, successes, failures, success_rate } = row;
          const logs = within(world, hours).filter((log) => log.webhookId === id);
          assert.deepEqual({ total, successes, failures, success_rate }, metricsOf(logs));
          const failing = await get(
            world,
            `/v1/webhooks/events?status=failure&webhook_id=${id}&hours=${hours}`,
          );
          assert.deepEqual(
            failing.data.map(shown),
            aggregate(logs).filter((event) => !event.success),
          );
        }
        const { id } = world.webhooks[0]!;
        const { webhooks } = await get(world, `/v1/webhooks/metrics?hours=${hours}&webhook_id=${id}`);
        const { by_hour: byHour, ...counts } = webhooks[0];
        assert.deepEqual(counts, byWebhook.webhooks[0]);
        assert.deepEqual(
          byHour,
          hoursOf(
            within(world, hours).filter((log) => log.webhookId === id),
            hours,
          ),
        );
      },
    ),
    { numRuns: RUNS },
  );
});

test('a webhook that refuses for good is stuck, whatever another webhook answered later', async () => {
  const refused = [1, 2, 3].map((attempt) => ({
    event: 0,
    webhook: 0,
    attempt,
    errorClass: 'permanent_4xx',
    ageHours: 1,
  }));
  const world = await write([...refused, { event: 0, webhook: 2, attempt: 1, errorClass: '', ageHours: 0 }]);
  const [stuckId, latestId] = [world.logs[2]!.id, world.logs[3]!.id];
  const ids = async (path: string) =>
    (await get(world, path)).data.map((row: DeliveredEvent) => [row.log_id, row.webhook_id, row.attempts]);
  const stuckRow = [[stuckId, world.webhooks[0]!.id, 3]];
  assert.deepEqual(await ids('/v1/webhooks/stuck'), stuckRow);
  assert.deepEqual(await ids('/v1/webhooks/events?status=stuck'), stuckRow);
  assert.deepEqual(
    await ids(`/v1/webhooks/instance-events?status=stuck&instance_id=${world.instances[0]}`),
    stuckRow,
  );
  assert.deepEqual(
    await ids('/v1/webhooks/events'),
    [[latestId, world.webhooks[2]!.id, 3]],
    'one row an event',
  );
  const metrics = await get(world, `/v1/webhooks/instance-metrics?instance_id=${world.instances[0]}`);
  assert.equal(metrics.stuck_pending, 1);
});

test('an event that waits at two webhooks is pending once', async () => {
  const failed = { event: 0, attempt: 1, errorClass: 'timeout', ageHours: 0 };
  const world = await write([
    { ...failed, webhook: 0 },
    { ...failed, webhook: 2 },
  ]);
  const metrics = await get(world, `/v1/webhooks/instance-metrics?instance_id=${world.instances[0]}`);
  assert.deepEqual([metrics.failures, metrics.stuck_pending], [2, 1]);
});

describe('the lists of attempts', () => {
  const history = Array.from({ length: 30 }, (_, index) => ({
    event: index % 13,
    webhook: index % 4,
    attempt: 1 + (index % 3),
    errorClass: index % 3 === 0 ? 'timeout' : '',
    ageHours: index < 10 ? 40 : 1,
  }));
  let world: World;
  let other: SeededCompany;
  before(async () => {
    world = await write(history);
    other = await seedCompany(messaging.parts.db);
  });
  const ids = (page: { data: { id: number }[] }) => page.data.map((log) => log.id);
  const newestFirst = (logs: readonly Log[]) => logs.map((log) => log.id).toSorted((a, b) => b - a);

  test('company-delivery-logs filters, begins 24 hours ago, and names companies to a superadmin only', async () => {
    const path = '/v1/webhooks/company-delivery-logs';
    const day = within(world, 24);
    assert.deepEqual(ids(await get(world, path)), newestFirst(day));
    const since = new Date(messaging.parts.clock.now().getTime() - 60 * HOUR_MS).toISOString();
    assert.deepEqual(ids(await get(world, `${path}?since=${since}&limit=100`)), newestFirst(world.logs));
    const failed = await get(world, `${path}?success=false`);
    assert.deepEqual(ids(failed), newestFirst(day.filter((log) => log.errorClass !== '')));
    const read = await get(world, `${path}?event_type=message.read`);
    assert.deepEqual(ids(read), newestFirst(day.filter((log) => log.eventType === 'message.read')));
    const webhookId = world.webhooks[2]!.id;
    const one = await get(world, `${path}?webhook_id=${webhookId}`);
    assert.deepEqual(ids(one), newestFirst(day.filter((log) => log.webhookId === webhookId)));
    assert.deepEqual([one.data[0].company_id, one.data[0].company_name], [null, null]);
    const foreign = await messaging.call('GET', `${path}?webhook_id=${webhookId}`, { key: other.apiKey });
    assert.deepEqual(foreign.body, { data: [], total: 0, page: 1, limit: 50 });
    assert.deepEqual(await get(world, `${path}?webhook_id=${2 ** 31 - 1}`), foreign.body);
    for (const none of [0, -1, 2 ** 31, Number.MAX_SAFE_INTEGER]) {
      const refused = await messaging.call('GET', `${path}?webhook_id=${none}`, {
        key: world.company.apiKey,
      });
      assert.deepEqual([refused.status, refused.body.error_code], [400, 'BAD_REQUEST'], String(none));
    }
    const jwt = await rootJwt();
    const seen = await messaging.call('GET', `${path}?webhook_id=${webhookId}`, { jwt });
    assert.deepEqual(ids(seen.body), ids(one));
    assert.equal(seen.body.data[0].company_id, world.company.companyId);
    assert.match(seen.body.data[0].company_name, /^company /);
  });

  test('delivery-logs shows the latest attempts, of all or of one instance', async () => {
    const path = '/v1/webhooks/delivery-logs';
    assert.deepEqual(ids(await get(world, path)), newestFirst(world.logs).slice(0, 20));
    const instanceId = world.instances[0]!;
    const one = await get(world, `${path}?instance_id=${instanceId}&limit=100`);
    assert.deepEqual(ids(one), newestFirst(within(world, 1_000, instanceId)));
    const foreign = await messaging.call('GET', `${path}?instance_id=${instanceId}`, { key: other.apiKey });
    assert.deepEqual(foreign.body.data, []);
  });

  test('event-deliveries are oldest first, with the body as sent while it is kept', async () => {
    const [first] = world.logs.filter((log) => log.hasPayload);
    const found = await get(world, `/v1/event-deliveries?event_id=${first!.eventId}`);
    const expected = world.logs.filter((log) => log.eventId === first!.eventId);
    assert.deepEqual(
      found.logs.map((log: { id: number }) => log.id),
      expected.map((log) => log.id),
    );
    assert.equal(found.total, expected.length);
    assert.equal(JSON.parse(found.logs[0].payload).event_id, first!.eventId);
    const foreign = await messaging.call('GET', `/v1/event-deliveries?event_id=${first!.eventId}`, {
      key: other.apiKey,
    });
    assert.deepEqual(foreign.body, { logs: [], total: 0 });
    // Its event still exists: partitions are dropped when the whole day is over.
    const past = world.logs.find((log) => !log.hasPayload)!;
    const late = await get(world, `/v1/event-deliveries?event_id=${past.eventId}`);
    const since = new Date(messaging.parts.clock.now().getTime() - 60 * HOUR_MS).toISOString();
    const company = await get(world, `/v1/webhooks/company-delivery-logs?since=${since}&limit=100`);
    const webhook = await messaging.call('GET', `/v1/webhooks/${past.webhookId}/logs`, {
      key: world.company.apiKey,
    });
    for (const logs of [late.logs, company.data, webhook.body.data] as { id: number; payload: string }[][]) {
      assert.ok(logs.some(({ id }) => id === past.id));
      for (const { id, payload } of logs)
        assert.equal(payload !== '', world.logs.find((log) => log.id === id)!.hasPayload);
    }
    const unknown = await get(world, `/v1/event-deliveries?event_id=nothing`);
    assert.deepEqual(unknown, { logs: [], total: 0 });
  });

  test('a missing or wrong parameter is refused with its own code', async () => {
    const call = (path: string) => messaging.call('GET', path, { key: world.company.apiKey });
    for (const [path, code, message] of [
      ['/v1/webhooks/instance-events', 'INSTANCE_ID_REQUIRED', 'instance_id: is required'],
      ['/v1/webhooks/instance-metrics?hours=5', 'INSTANCE_ID_REQUIRED', 'instance_id: is required'],
      ['/v1/webhooks/events?status=odd', 'INVALID_STATUS', 'status: must be all, success, failure or stuck'],
      [
        `/v1/webhooks/instance-events?instance_id=${world.instances[0]}&status=odd`,
        'INVALID_STATUS',
        'status',
      ],
      ['/v1/webhooks/events?since=yesterday', 'BAD_REQUEST', 'since'],
      ['/v1/webhooks/stuck?hours=0', 'BAD_REQUEST', 'hours'],
      ['/v1/event-deliveries', 'BAD_REQUEST', 'event_id'],
      ['/v1/event-deliveries?event_id=', 'BAD_REQUEST', 'event_id'],
    ] as const) {
      const answer = await call(path);
      assert.deepEqual([answer.status, answer.body.error_code], [400, code], path);
      assert.ok(answer.body.message.startsWith(message), answer.body.message);
    }
    for (const path of ['/v1/webhooks/events?webhook_id=x', '/v1/webhooks/metrics?webhook_id=0']) {
      const answer = await call(path);
      assert.deepEqual([answer.status, answer.body.error_code], [400, 'BAD_REQUEST'], path);
    }
    const foreign = (await write([])).webhooks[0]!.id;
    assert.deepEqual((await call(`/v1/webhooks/metrics?webhook_id=${foreign}`)).body.webhooks, []);
    assert.deepEqual((await call(`/v1/webhooks/events?webhook_id=${foreign}`)).body.data, []);
    const capped = await call('/v1/webhooks/metrics?hours=9999');
    assert.equal(capped.body.period_hours, 168);
    const strange = await call(`/v1/webhooks/instance-metrics?instance_id=${newId()}`);
    assert.deepEqual(
      [strange.body.total, strange.body.success_rate, strange.body.configured_webhooks],
      [0, 100, 0],
    );
  });
});
