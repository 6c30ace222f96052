import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { localDate } from '@posthorn/core/billing/dates.ts';
import { cancelCompany } from '@posthorn/core/billing/subscriptions/cancel-company.ts';
import type { Answer } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import type { SeededCompany } from '../support/seed.ts';
import { newCpf, startTestBilling, type TestBilling, withProfile } from './billing-harness.ts';
import { paymentEvent } from './provider-payloads.ts';

const DAY_MS = 86_400_000;
const PATH = '/v1/billing/subscriptions';

describe('the trial', () => {
  let billing: TestBilling;
  before(async () => {
    billing = await startTestBilling();
    await billing.startWorker();
  });
  after(() => billing.close());

  const subscribe = ({ apiKey }: SeededCompany, body: object = {}): Promise<Answer> =>
    billing.call('POST', PATH, {
      key: apiKey,
      body: { plan_code: 'starter_monthly', billing_type: 'pix', ...body },
    });
  const statusOf = async (id: number) =>
    (
      await billing.parts.db.query<{ status: string }>(
        'SELECT status FROM billing.subscriptions WHERE id = $1',
        [id],
      )
    ).rows[0]!.status;
  const cancel = (company: SeededCompany, id: number) =>
    billing.call('POST', `${PATH}/${id}/cancel`, { key: company.apiKey, body: { immediate: true } });
  const trialMs = ({ body }: Answer) => Date.parse(body.trial_ends_at) - billing.parts.clock.now().getTime();
  /** The free plan's rate, which counts after a plan has ended, is below the requests of this minute. */
  const nextMinute = () => billing.parts.clock.advance(60_000);
  const limitOf = async ({ companyId }: SeededCompany) =>
    (
      await billing.parts.db.query<{ max_instances: number | null }>(
        'SELECT max_instances FROM companies WHERE id = $1',
        [companyId],
      )
    ).rows[0]!.max_instances;

  it('continues when the company cancels and subscribes again: trialing until the day on which it would have ended', async () => {
    const company = await withProfile(billing);
    const first = await subscribe(company);
    for (const days of [0, 12, 17]) {
      billing.parts.clock.advance(days * DAY_MS);
      const current = await billing.call('GET', `${PATH}/current`, { key: company.apiKey });
      assert.equal((await cancel(company, current.body.id)).status, 204);
      nextMinute();
      const again = await subscribe(company, { plan_code: 'pro_monthly' });
      assert.deepEqual([again.status, again.body.status], [201, 'trialing'], again.text);
      assert.equal(again.body.trial_ends_at, first.body.trial_ends_at);
      assert.equal(again.body.current_period_end, first.body.trial_ends_at);
      const { rows } = await billing.parts.db.query<{ due_date: string }>(
        'SELECT due_date::text FROM billing.charges WHERE subscription_id = $1',
        [again.body.id],
      );
      assert.deepEqual(rows, [{ due_date: localDate(new Date(first.body.trial_ends_at)) }]);
      await waitFor(async () => (await limitOf(company)) === 30);
      nextMinute();
    }
    const { body } = await billing.call('GET', `${PATH}/current`, { key: company.apiKey });
    billing.parts.clock.advance(DAY_MS);
    await waitFor(async () => (await statusOf(body.id)) === 'expired');
  });

  it('is there once: subscribed again after its end, the first charge is due now and nothing runs before it', async () => {
    const company = await withProfile(billing);
    const first = await subscribe(company);
    assert.deepEqual([first.status, first.body.status], [201, 'trialing']);
    assert.ok(Math.abs(trialMs(first) - 30 * DAY_MS) < 60_000);
    assert.equal((await cancel(company, first.body.id)).status, 204);
    billing.parts.clock.advance(30 * DAY_MS);
    const second = await subscribe(company);
    assert.deepEqual([second.status, second.body.status], [201, 'expired'], second.text);
    assert.ok(trialMs(second) <= 0);
    await waitFor(async () => (await limitOf(company)) === null);
    nextMinute();
    const charges = await billing.call('GET', '/v1/billing/charges', { key: company.apiKey });
    const due = charges.body.data.map((charge: { due_date: string }) => charge.due_date).toSorted();
    const today = billing.parts.clock.now().getTime();
    assert.ok(Math.abs(Date.parse(due[0]) - today) < 2 * DAY_MS, due[0]);
    await billing.deliver(paymentEvent('PAYMENT_RECEIVED', second.body, { at: billing.parts.clock.now() }));
    await waitFor(async () => (await statusOf(second.body.id)) === 'active');
    await waitFor(async () => (await limitOf(company)) === 10);
  });

  it('is the document’s: another company with it gets none, now and after the first is gone', async () => {
    const document = newCpf();
    const first = await withProfile(billing, document);
    assert.equal((await subscribe(first)).body.status, 'trialing');
    const formatted = document.replace(/(\d{3})(\d{3})(\d{3})(\d{2})/, '$1.$2.$3-$4');
    const second = await withProfile(billing, formatted);
    assert.equal((await subscribe(second)).body.status, 'expired');
    // Deleted and purged: the only trace of the company is that its document had a trial.
    const { purgeCompanies } = await import('@posthorn/core/billing/purge-companies.ts');
    for (const { companyId } of [first, second]) await cancelCompany(billing.billing, { companyId });
    await billing.parts.db.query('DELETE FROM companies WHERE id = ANY ($1)', [
      [first.companyId, second.companyId],
    ]);
    assert.equal(await purgeCompanies(billing.billing), 2);
    const kept = await billing.parts.db.query('SELECT trials::text FROM billing.trials');
    assert.ok(!JSON.stringify(kept.rows).includes(document));
    assert.equal((await subscribe(await withProfile(billing, document))).body.status, 'expired');
  });

  it('is given once to companies with one document that subscribe at the same moment', async () => {
    const document = newCpf();
    const companies = await Promise.all(Array.from({ length: 6 }, () => withProfile(billing, document)));
    const answers = await Promise.all(companies.map((company) => subscribe(company)));
    for (const { status } of answers) assert.ok([201, 503].includes(status));
    // Companies that were told to come again do so.
    for (const [at, { status }] of answers.entries())
      if (status === 503) answers[at] = await subscribe(companies[at]!);
    const states = answers.map(({ body }) => body.status).toSorted();
    assert.deepEqual(states, [...Array(5).fill('expired'), 'trialing']);
  });

  it('is not spent by a request that the provider refused', async () => {
    const document = newCpf();
    const company = await withProfile(billing, document);
    const refused = await subscribe(company, {
      billing_type: 'credit_card',
      card_id: await declinedCard(company),
    });
    assert.deepEqual([refused.status, refused.body.error_code], [422, 'CARD_REJECTED']);
    assert.equal((await subscribe(await withProfile(billing, document))).body.status, 'trialing');
    assert.equal((await subscribe(company)).body.status, 'expired');
  });

  it('counts subscriptions from before claims were kept', async () => {
    const company = await withProfile(billing);
    const first = await subscribe(company);
    await billing.parts.db.query('DELETE FROM billing.trials');
    assert.equal((await cancel(company, first.body.id)).status, 204);
    await waitFor(async () => (await limitOf(company)) === null);
    billing.parts.clock.advance(29 * DAY_MS);
    const second = await subscribe(company);
    assert.deepEqual([second.body.status, second.body.trial_ends_at], ['trialing', first.body.trial_ends_at]);
    await waitFor(async () => (await limitOf(company)) === 10);
    nextMinute();
    assert.equal((await cancel(company, second.body.id)).status, 204);
    billing.parts.clock.advance(DAY_MS);
    assert.equal((await subscribe(company)).body.status, 'expired');
  });

  it('not had, an unpaid subscription is over after three days, and another can be made any time', async () => {
    const company = await withProfile(billing);
    await cancel(company, (await subscribe(company)).body.id);
    billing.parts.clock.advance(30 * DAY_MS);
    const unpaid = await subscribe(company);
    nextMinute();
    const again = await subscribe(company, { plan_code: 'pro_monthly' });
    assert.deepEqual([again.status, again.body.status], [201, 'expired']);
    const ends = (made: typeof unpaid, what: string) =>
      waitFor(
        async () => {
          // A failed task is tried again some seconds later, by a clock that only tests move.
          nextMinute();
          return !(await billing.billing.provider.readSubscription(made.body.asaas_subscription_id));
        },
        undefined,
        { what, everyMs: 200 },
      );
    await ends(unpaid, 'the superseded one to end at the provider');
    billing.parts.clock.advance(3 * DAY_MS + 60_000);
    await ends(again, 'the unpaid one to end at the provider');
  });

  /** A card that was accepted once, and that the provider now declines. */
  async function declinedCard(company: SeededCompany & { profileId: number }): Promise<number> {
    const card = await billing.call('POST', '/v1/billing/cards/tokenize', {
      key: company.apiKey,
      body: {
        billing_profile_id: company.profileId,
        number: '5162306219378829',
        exp_month: 12,
        exp_year: 2040,
        cvv: '318',
      },
    });
    assert.equal(card.status, 201, card.text);
    await billing.parts.db.query('DELETE FROM billing.simulated_cards');
    return card.body.id;
  }
});
