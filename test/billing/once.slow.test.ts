import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { processEvent } from '@posthorn/core/billing/provider-events/process-event.ts';
import { freePort, type RunningProcess, startProcess, waitFor } from '../support/process.ts';
import { sized } from '../support/size.ts';
import { startAsaasServer } from './asaas-server.ts';
import {
  drainEvents,
  newCpf,
  PROFILE,
  startTestBilling,
  type TestBilling,
  WEBHOOK_SECRET,
  withSubscription,
} from './billing-harness.ts';
import { paymentEvent, subscriptionEvent } from './provider-payloads.ts';

const EVENTS = [
  'PAYMENT_CREATED',
  'PAYMENT_CONFIRMED',
  'PAYMENT_RECEIVED',
  'PAYMENT_OVERDUE',
  'PAYMENT_REPROVED_BY_RISK_ANALYSIS',
  'PAYMENT_REFUNDED',
  'PAYMENT_CHARGEBACK_REQUESTED',
  'PAYMENT_DELETED',
  'SUBSCRIPTION_DELETED',
];

/** Each kill starts the process again, which takes longer than all its work between two kills. */
const KILLS = sized(5, 15, 15);
const CREATIONS = sized(4, 10, 10);

let billing: TestBilling;
before(async () => {
  billing = await startTestBilling();
});
after(() => billing.close());

type Subscribed = Awaited<ReturnType<typeof withSubscription>>;

/** All effects of events on a company, without the ids and times that differ between two companies. */
async function traceOf({ companyId }: Subscribed) {
  const read = async (statement: string) => (await billing.parts.db.query(statement, [companyId])).rows;
  return {
    subscription: await read(
      `SELECT status, plan_code, next_plan_code, current_period_end, cancelled_at IS NOT NULL AS cancelled
       FROM billing.subscriptions WHERE company_id = $1`,
    ),
    items: await read(
      `SELECT code, quantity, unit_price_cents, scheduled_for_next_cycle
       FROM billing.subscription_items WHERE company_id = $1 ORDER BY id`,
    ),
    charges: await read(
      `SELECT status, amount_cents, due_date::text, paid_cycle FROM billing.charges WHERE company_id = $1 ORDER BY id`,
    ),
    facts: await read(
      `SELECT fact.status FROM billing.charge_facts fact JOIN billing.charges charge ON charge.id = charge_id
       WHERE company_id = $1 ORDER BY fact.seq`,
    ),
    news: await read(
      `SELECT body -> 'kind' AS kind, body -> 'version' AS version FROM billing.outbox WHERE company_id = $1 ORDER BY id`,
    ),
    tasks: await read(`SELECT kind, version FROM billing.provider_tasks WHERE company_id = $1 ORDER BY kind`),
  };
}

/** An active subscription with a pending change of plan, so that an event has effects that could happen twice. */
async function prepare(): Promise<{ company: Subscribed; paymentId: string }> {
  const company = await withSubscription(billing, { addons: [{ code: 'extra_user', quantity: 2 }] });
  const at = billing.parts.clock.now();
  await billing.deliver(
    paymentEvent('PAYMENT_RECEIVED', company.subscription, { at, dueDate: '2026-01-10' }),
  );
  await drainEvents(billing);
  const path = `/v1/billing/subscriptions/${company.subscription.id}/change-plan`;
  const changed = await billing.call('POST', path, {
    key: company.apiKey,
    body: { new_plan_code: 'pro_monthly' },
  });
  assert.equal(changed.status, 202);
  return { company, paymentId: `pay_${company.companyId}` };
}

function letter(event: string, { company, paymentId }: Awaited<ReturnType<typeof prepare>>) {
  const at = billing.parts.clock.now();
  return event === 'SUBSCRIPTION_DELETED'
    ? subscriptionEvent(company.subscription, { at })
    : paymentEvent(event, company.subscription, { at, paymentId, dueDate: '2026-02-10' });
}

describe('each provider event', () => {
  for (const event of EVENTS)
    it(`${event} counts once when it comes 50 times at the same moment, to five processors`, async () => {
      const once = await prepare();
      const often = await prepare();
      billing.parts.clock.advance(5_000);
      await billing.deliver(letter(event, once));
      await drainEvents(billing);
      const same = letter(event, often);
      const answers = await Promise.all(Array.from({ length: 50 }, () => billing.deliver(same)));
      assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [200]);
      const { rows } = await billing.parts.db.query<{ id: number }>(
        'SELECT id FROM billing.provider_events WHERE provider_event_id = $1',
        [same.id],
      );
      assert.equal(rows.length, 1);
      await Promise.all(Array.from({ length: 5 }, () => processEvent(billing.billing, rows[0]!.id)));
      assert.deepEqual(await traceOf(often.company), await traceOf(once.company));
    });

  it('counts once when the provider sends it 50 times under ids of their own', async () => {
    for (const event of EVENTS) {
      const once = await prepare();
      const often = await prepare();
      billing.parts.clock.advance(5_000);
      await billing.deliver(letter(event, once));
      await drainEvents(billing);
      const { rows: before } = await billing.parts.db.query<{ max: number }>(
        'SELECT max(id) FROM billing.provider_events',
      );
      await Promise.all(Array.from({ length: 50 }, () => billing.deliver(letter(event, often))));
      const { rows } = await billing.parts.db.query<{ id: number }>(
        'SELECT id FROM billing.provider_events WHERE id > $1',
        [before[0]!.max],
      );
      assert.equal(rows.length, 50);
      await Promise.all(rows.map(({ id }) => processEvent(billing.billing, id)));
      // All 50 deliveries are on record; their effects are not repeated.
      const { facts: _said, ...effects } = await traceOf(often.company);
      const { facts: _once, ...expected } = await traceOf(once.company);
      assert.deepEqual(effects, expected, event);
    }
  });
});

describe('a process that is killed', () => {
  let process: RunningProcess | undefined;
  after(() => process?.kill());

  const env = async (more: Record<string, string> = {}) => ({
    NODE_ENV: 'test',
    LOG_LEVEL: 'silent',
    DATABASE_URL: billing.parts.url,
    AMQP_URL: 'amqp://127.0.0.1',
    JWT_SECRET: 'a secret of the tests, long enough for HS256',
    ENCRYPTION_KEY: '5a'.repeat(32),
    ASAAS_WEBHOOK_SECRET: WEBHOOK_SECRET,
    BILLING_PORT: String(await freePort()),
    ...more,
  });

  it('loses no event that it answered and applies none twice, wherever it is cut', async () => {
    const settings = await env();
    const url = `http://127.0.0.1:${settings.BILLING_PORT}`;
    const companies: Subscribed[] = [];
    for (let i = 0; i < 6; i += 1) companies.push(await withSubscription(billing));
    process = await startProcess({
      entry: 'test/billing/billing-main.ts',
      env: settings,
      ready: { url: `${url}/ready` },
    });
    const start = billing.parts.clock.now().getTime();
    const letters = companies.flatMap((company) =>
      Array.from({ length: 40 }, (_, i) =>
        paymentEvent(EVENTS[i % 3]!, company.subscription, {
          at: new Date(start + i * 1000),
          paymentId: `pay_kill_${company.companyId}_${Math.floor(i / 3)}`,
          dueDate: '2026-03-01',
        }),
      ),
    );
    let sending = true;
    let kills = 0;
    const killer = (async () => {
      // At most this many: on a busy machine a start takes longer than the time to the next kill.
      while (sending && kills < KILLS) {
        await delay(Math.random() * 250);
        kills += 1;
        await process!.restart();
      }
    })();
    // As the provider does: each is repeated until it is answered 200, six at a time.
    const queue = letters.toSorted(() => Math.random() - 0.5);
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        for (let next = queue.pop(); next; next = queue.pop()) {
          await send(url, next);
          await delay(Math.random() * 60);
        }
      }),
    );
    sending = false;
    await killer;
    await waitFor(
      async () => {
        const { rows } = await billing.parts.db.query(
          `SELECT FROM billing.provider_events WHERE status = 'pending' AND provider_event_id = ANY($1)`,
          [letters.map((each) => each.id)],
        );
        return rows.length === 0;
      },
      60_000,
      { everyMs: 100 },
    );
    const { rows } = await billing.parts.db.query<{ processed: number; once: number }>(
      `SELECT count(*)::int AS processed, count(DISTINCT fact.seq)::int AS once
       FROM billing.provider_events event LEFT JOIN billing.charge_facts fact ON fact.seq = event.id
       WHERE provider_event_id = ANY($1) AND event.status = 'processed' AND attempts = 1`,
      [letters.map((each) => each.id)],
    );
    assert.deepEqual(rows[0], { processed: letters.length, once: letters.length });
    for (const company of companies) {
      const { charges, subscription } = await traceOf(company);
      // Fourteen from the events, and the one that the provider made with the subscription.
      assert.equal(charges.length, 15);
      assert.equal(charges.filter((charge) => charge.status === 'received').length, 13);
      assert.equal(subscription[0]!.status, 'active');
    }
    assert.ok(kills >= Math.min(KILLS, 5), `${kills} kills`);
    console.log(`${letters.length} events, ${kills} kills`);
  });

  it('leaves no subscription that only one side knows, cut in the middle of a creation', async () => {
    const asaas = await startAsaasServer();
    const settings = await env({ ASAAS_API_KEY: '$aact_hmlg_key', ASAAS_BASE_URL: asaas.url });
    const url = `http://127.0.0.1:${settings.BILLING_PORT}`;
    await process?.kill();
    process = await startProcess({
      entry: 'test/billing/billing-main.ts',
      env: settings,
      ready: { url: `${url}/ready` },
    });
    const post = (path: string, key: string, body: unknown) =>
      fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': key },
        body: JSON.stringify(body),
      }).catch(() => null);
    const companies = [];
    for (let i = 0; i < CREATIONS; i += 1) {
      const company = await billing.company();
      assert.equal(
        (await post('/v1/billing/profile', company.apiKey, { ...PROFILE, document_number: newCpf() }))
          ?.status,
        201,
      );
      companies.push(company);
    }
    for (const [i, company] of companies.entries()) {
      asaas.fault('POST /subscriptions', { kind: 'slow', delayMs: 80 });
      const creation = post('/v1/billing/subscriptions', company.apiKey, {
        plan_code: 'starter_monthly',
        billing_type: 'boleto',
      });
      await delay(20 + (i * 300) / CREATIONS);
      await process.restart();
      await creation;
    }
    // Interrupted calls count as given up after a while; the clock of that process can't be moved.
    await billing.parts.db.query(
      `UPDATE billing.provider_intents SET expires_at = now(), next_attempt_at = now() WHERE state = 'started'`,
    );
    await waitFor(
      async () => {
        const { rows } = await billing.parts.db.query(
          `SELECT FROM billing.provider_intents WHERE state IN ('started', 'undo') AND attempts = 0`,
        );
        return rows.length === 0;
      },
      60_000,
      { everyMs: 100 },
    );
    const { rows } = await billing.parts.db.query<{ id: string }>(
      `SELECT asaas_subscription_id AS id FROM billing.subscriptions WHERE company_id = ANY($1) ORDER BY 1`,
      [companies.map((company) => company.companyId)],
    );
    const theirs = [...asaas.subscriptions.values()]
      .filter((each) => !each.deleted)
      .map((each) => String(each.id));
    assert.deepEqual(
      theirs.sort(),
      rows.map((row) => row.id),
    );
    console.log(
      `${companies.length} creations cut, ${asaas.subscriptions.size} reached the provider, ${theirs.length} stand`,
    );
    await asaas.close();
  });
});

async function send(url: string, event: unknown): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/v1/webhooks/asaas`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'asaas-access-token': WEBHOOK_SECRET },
      body: JSON.stringify(event),
    }).catch(() => null);
    await answer?.body?.cancel();
    if (answer?.status === 200) return;
    await delay(50);
  }
}
