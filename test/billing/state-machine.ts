import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ApiError } from '@posthorn/contract/api-error.ts';
import { listCharges } from '@posthorn/core/billing/charges/list-charges.ts';
import { formatProviderTime, localDate } from '@posthorn/core/billing/dates.ts';
import { createProfile } from '@posthorn/core/billing/payers/create-profile.ts';
import type { TaskKind } from '@posthorn/core/billing/provider/provider-tasks.ts';
import { advanceClock } from '@posthorn/core/billing/provider/simulated/advance-clock.ts';
import { ingestEvent } from '@posthorn/core/billing/provider-events/ingest-event.ts';
import { processEvent } from '@posthorn/core/billing/provider-events/process-event.ts';
import { runDueTask } from '@posthorn/core/billing/run-provider-tasks.ts';
import { cancelSubscription } from '@posthorn/core/billing/subscriptions/cancel-subscription.ts';
import { addItem, removeItem } from '@posthorn/core/billing/subscriptions/change-items.ts';
import { changePlan } from '@posthorn/core/billing/subscriptions/change-plan.ts';
import { createSubscription } from '@posthorn/core/billing/subscriptions/create-subscription.ts';
import { readCurrentSubscription } from '@posthorn/core/billing/subscriptions/read-subscription.ts';
import fc from 'fast-check';
import { waitFor } from '../support/process.ts';
import { newCpf, startTestBilling, type TestBilling } from './billing-harness.ts';
import * as model from './subscription-model.ts';

/** Sequences that run at the same time, each with a company of its own. */
const AT_ONCE = 8;
/** A test has to end within five minutes, also on a busy machine. */
const SEQUENCES_A_TEST = 200;

let billing: TestBilling;

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

const plan = fc.constantFrom(...Object.keys(model.PLANS));
const addon = fc.constantFrom(...Object.keys(model.ADDONS));

const providerEvent = fc.record({
  event: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('PAYMENT_RECEIVED', 'PAYMENT_OVERDUE', 'PAYMENT_CONFIRMED') },
    { weight: 4, arbitrary: fc.constantFrom(...EVENTS) },
  ),
  /** 0 is the charge that the provider made with the subscription. */
  charge: fc.integer({ min: 0, max: 3 }),
  gapSeconds: fc.integer({ min: 1, max: 90 }),
  dueInDays: fc.integer({ min: -5, max: 40 }),
  amountCents: fc.integer({ min: 100, max: 100_000 }),
  /** An event of the previous subscription, which may still arrive. */
  previous: fc.integer({ min: 0, max: 9 }).map((of10) => of10 === 0),
  /** Sent again with the same id, and once more with an id of its own. */
  repeats: fc.integer({ min: 0, max: 3 }),
  twin: fc.boolean(),
  /** Its place in the shuffled delivery. */
  place: fc.double({ min: 0, max: 1, noNaN: true }),
});
type Sent = typeof providerEvent extends fc.Arbitrary<infer T> ? T : never;

const step = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('subscribe' as const),
      plan,
      addons: fc.dictionary(addon, fc.integer({ min: 1, max: 5 }), { maxKeys: 2 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('change' as const), plan }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), immediate: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      addon,
      quantity: fc.integer({ min: -1, max: 30 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), addon }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('advance' as const),
      hours: fc.oneof(
        fc.constantFrom(24, 72, 71, 73, 30 * 24, 31 * 24),
        fc.integer({ min: 1, max: 40 * 24 }),
      ),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constant('events' as const),
      events: fc.array(providerEvent, { minLength: 1, maxLength: 4 }),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const history = fc.array(step, { minLength: 4, maxLength: 14 });

/**
 * Registers the test that plays `atLeast` random sequences against the model. BILLING_SEQUENCES sets another number.
 */
export function testStateMachine(atLeast: number): void {
  const inAll = Number(process.env.BILLING_SEQUENCES ?? atLeast);
  const parts = Math.ceil(inAll / SEQUENCES_A_TEST);
  const groups = Math.ceil(inAll / parts / AT_ONCE);
  before(async () => {
    billing = await startTestBilling({ relaxed: true });
  });
  after(() => billing.close());

  describe('the state machine of subscriptions', () => {
    const promise =
      'agrees with a plain model on every state, charge and item, whatever comes in whatever order';
    for (let part = 1; part <= parts; part += 1)
      it(`${promise} (${part} of ${parts})`, async () => {
        let sequences = 0;
        let steps = 0;
        await fc.assert(
          fc.asyncProperty(
            fc.array(history, { minLength: AT_ONCE, maxLength: AT_ONCE }),
            async (histories) => {
              await Promise.all(histories.map(play));
              sequences += histories.length;
              steps += histories.reduce((sum, each) => sum + each.length, 0);
            },
          ),
          // Shrinking takes minutes; turn it on to look for the cause.
          { numRuns: groups, endOnFailure: process.env.BILLING_SHRINK === undefined },
        );
        assert.ok(sequences >= groups * AT_ONCE);
        console.log(`${sequences} sequences, ${steps} steps`);
      });
  });
}

interface Play {
  companyId: number;
  now: number;
  subscriptions: { id: number; providerId: string; state: model.ModelSubscription; firstCharge: string }[];
}

async function play(steps: Step[]): Promise<void> {
  const { companyId } = await billing.company();
  await createProfile(billing.billing, {
    companyId,
    profile: { document_type: 'cpf', document_number: newCpf(), legal_name: 'Maria' },
  });
  const game: Play = { companyId, now: billing.parts.clock.now().getTime(), subscriptions: [] };
  await subscribe(game, { plan: 'starter_monthly', addons: {} });
  for (const [at, each] of steps.entries()) {
    await PLAYS[each.do](game, each as never);
    for (const { state } of game.subscriptions) model.passTime(state, game.now);
    await compare(game, `after step ${at}, ${JSON.stringify(each)}`);
  }
}

const PLAYS: { [K in Step['do']]: (game: Play, step: Extract<Step, { do: K }>) => Promise<void> } = {
  subscribe,
  async change(game, { plan: newPlanCode }) {
    const { id, state, firstCharge } = game.subscriptions.at(-1)!;
    const error = await codeOf(
      changePlan(billing.billing, { companyId: game.companyId, subscriptionId: id, newPlanCode }),
    );
    const refused = !isChangeable(state, game.now)
      ? 'SUBSCRIPTION_NOT_ACTIVE'
      : state.plan === newPlanCode
        ? 'ALREADY_ON_PLAN'
        : null;
    assert.equal(error, refused);
    if (refused !== null) return;
    model.schedulePlan(state, newPlanCode, firstCharge);
    // The provider gives its own charge the new price.
    await runTasks(game, 'sync_subscription');
  },
  async cancel(game, { immediate }) {
    const { id, state } = game.subscriptions.at(-1)!;
    const error = await codeOf(
      cancelSubscription(billing.billing, {
        companyId: game.companyId,
        subscriptionId: id,
        how: { immediate },
      }),
    );
    const status = model.statusOf(state, game.now);
    const refused =
      isChangeable(state, game.now) || status === 'cancelled' ? null : 'SUBSCRIPTION_NOT_ACTIVE';
    assert.equal(error, refused);
    if (refused !== null || status === 'cancelled') return;
    if (immediate) model.cancel(state);
    else state.cancelAtPeriodEnd = true;
  },
  async add(game, { addon: addonCode, quantity }) {
    const { id, state } = game.subscriptions.at(-1)!;
    const error = await codeOf(
      addItem(billing.billing, { companyId: game.companyId, subscriptionId: id, addonCode, quantity }),
    );
    const units = quantity === 0 ? 1 : quantity;
    const line = state.addons.get(addonCode);
    const total = (line?.quantity ?? 0) + units;
    const status = model.statusOf(state, game.now);
    const refused =
      units < 1
        ? 'INVALID_QUANTITY'
        : status === 'suspended'
          ? 'SUBSCRIPTION_NOT_ACTIVE'
          : !isChangeable(state, game.now)
            ? 'SUBSCRIPTION_NOT_FOUND'
            : state.cancelAtPeriodEnd
              ? 'SUBSCRIPTION_NOT_ACTIVE'
              : total > model.ADDONS[addonCode]!.max
                ? 'INVALID_QUANTITY'
                : null;
    assert.equal(error, refused);
    if (refused !== null) return;
    const yearly = model.PLANS[state.plan]!.cycle === 'yearly';
    state.addons.set(addonCode, {
      quantity: total,
      priceCents: model.ADDONS[addonCode]!.priceCents * (yearly ? 12 : 1),
      scheduled: true,
    });
  },
  async remove(game, { addon: addonCode }) {
    const { id, state } = game.subscriptions.at(-1)!;
    const shown = await readCurrentSubscription(billing.billing, game);
    const itemId = shown.items.find((item) => item.code === addonCode)?.id ?? 999_999;
    const error = await codeOf(
      removeItem(billing.billing, { companyId: game.companyId, subscriptionId: id, itemId }),
    );
    const ended = ['cancelled', 'expired'].includes(model.statusOf(state, game.now));
    const refused = ended || !state.addons.has(addonCode) ? 'ITEM_NOT_FOUND' : null;
    assert.equal(error, refused);
    if (refused === null) state.addons.delete(addonCode);
  },
  async advance(game, { hours }) {
    await advance(game, hours * 3600);
    await endDueSubscriptions(game);
    for (const { state } of game.subscriptions) model.closeExpired(state, game.now);
  },
  async events(game, { events }) {
    const told = events.map((sent) => ({ sent, ...subject(game, sent) }));
    const begin = game.now;
    await advance(
      game,
      told.reduce((sum, { sent }) => sum + sent.gapSeconds, 0),
    );
    let at = begin;
    const letters = told.map(({ sent, target, charge }) => {
      at += sent.gapSeconds * 1000;
      const dueDate = localDate(new Date(at + sent.dueInDays * 86_400_000));
      const { event, amountCents } = sent;
      const known = target.state.charges.get(charge)?.dueDate;
      model.happen(target.state, { event, charge, at, dueDate: known ?? dueDate, amountCents }, game.now);
      return { sent, target, charge, at, dueDate: target.state.charges.get(charge)?.dueDate ?? dueDate };
    });
    await deliver(letters);
  },
};

interface Letter {
  sent: Sent;
  target: Play['subscriptions'][number];
  charge: string;
  at: number;
  dueDate: string;
}

/** Delivers all at once, out of order, some several times, and several are processed at the same time. */
async function deliver(letters: Letter[]): Promise<void> {
  const post = letters.flatMap((letter) => {
    const copies = [letter.sent.place, ...(letter.sent.twin ? [1 - letter.sent.place] : [])];
    return copies.map((place) => ({ place, body: bodyOf(letter), repeats: letter.sent.repeats }));
  });
  post.sort((a, b) => a.place - b.place);
  for (const { body, repeats } of post)
    await Promise.all(
      Array.from({ length: repeats + 1 }, () =>
        ingestEvent(billing.billing, { event: body, traceId: '00000000-0000-0000-0000-000000000000' }),
      ),
    );
  const { rows } = await billing.parts.db.query<{ id: number; provider_event_id: string }>(
    'SELECT id, provider_event_id FROM billing.provider_events WHERE provider_event_id = ANY($1)',
    [post.map(({ body }) => body.id)],
  );
  assert.equal(rows.length, post.length);
  const order = rows.toSorted((a, b) => (a.provider_event_id < b.provider_event_id ? -1 : 1));
  await Promise.all(
    order.flatMap(({ id }) => [processEvent(billing.billing, id), processEvent(billing.billing, id)]),
  );
  const left = await billing.parts.db.query<{ status: string; last_error: string }>(
    `SELECT status, last_error FROM billing.provider_events WHERE id = ANY($1) AND status <> 'processed'`,
    [rows.map((row) => row.id)],
  );
  assert.deepEqual(left.rows, []);
}

function bodyOf({ sent, target, charge, at, dueDate }: Letter) {
  const head = {
    id: `evt_${crypto.randomUUID()}`,
    event: sent.event,
    dateCreated: formatProviderTime(new Date(at)),
  };
  if (sent.event === 'SUBSCRIPTION_DELETED') return { ...head, subscription: { id: target.providerId } };
  return {
    ...head,
    payment: {
      id: charge,
      subscription: target.providerId,
      value: sent.amountCents / 100,
      billingType: 'BOLETO',
      dueDate,
    },
  };
}

function subject(game: Play, sent: Sent): { target: Play['subscriptions'][number]; charge: string } {
  const target = (sent.previous ? game.subscriptions.at(-2) : undefined) ?? game.subscriptions.at(-1)!;
  return {
    target,
    charge: sent.charge === 0 ? target.firstCharge : `${target.providerId}_${sent.charge}`,
  };
}

/** Ends the subscriptions at the provider whose end is due there. */
const endDueSubscriptions = (game: Play) => runTasks(game, 'end_subscription');

async function runTasks(game: Play, kind: TaskKind): Promise<void> {
  while (await runDueTask(billing.billing));
  // Another sequence may be working on one of our tasks.
  await waitFor(async () => {
    const { rows } = await billing.parts.db.query(
      `SELECT FROM billing.provider_tasks WHERE company_id = $1 AND kind = $3 AND next_attempt_at <= $2`,
      [game.companyId, billing.parts.clock.now(), kind],
    );
    return rows.length === 0;
  });
}

async function advance(game: Play, seconds: number): Promise<void> {
  const { now } = await advanceClock(billing.billing, { companyId: game.companyId, seconds });
  game.now = now.getTime();
  for (const { state } of game.subscriptions) model.passTime(state, game.now);
}

async function subscribe(game: Play, input: { plan: string; addons: Record<string, number> }): Promise<void> {
  const made = createSubscription(billing.billing, {
    companyId: game.companyId,
    remoteIp: '127.0.0.1',
    body: {
      plan_code: input.plan,
      billing_type: 'boleto',
      addons: Object.entries(input.addons).map(([code, quantity]) => ({ code, quantity })),
    },
  });
  const error = await codeOf(made);
  const current = game.subscriptions.at(-1);
  const live = current && !['cancelled', 'expired'].includes(model.statusOf(current.state, game.now));
  assert.equal(error, live ? 'SUBSCRIPTION_EXISTS' : null);
  if (live) return;
  const { id, asaas_subscription_id } = await made;
  const [first] = await billing.billing.provider.listPayments(asaas_subscription_id!);
  if (current) {
    model.supersede(current.state, game.now);
    await endDueSubscriptions(game);
  }
  game.subscriptions.push({
    id,
    providerId: asaas_subscription_id!,
    firstCharge: first!.id,
    state: model.subscribe({
      ...input,
      now: game.now,
      firstCharge: first!.id,
      firstTrialEndsAt: game.subscriptions[0]?.state.trialEndsAt ?? null,
    }),
  });
}

/** Asserts that the stored rows match the model: states, every charge once, every item once. */
async function compare(game: Play, when: string): Promise<void> {
  const { companyId } = game;
  const states = await billing.parts.db.query<{ id: number; status: string }>(
    'SELECT id, status FROM billing.subscriptions WHERE company_id = $1 ORDER BY id',
    [companyId],
  );
  assert.deepEqual(
    states.rows,
    game.subscriptions.map(({ id, state }) => ({ id, status: model.statusOf(state, game.now) })),
    when,
  );
  const charges = await listCharges(billing.billing, { companyId, limit: '200' });
  assert.deepEqual(
    charges.map((charge) => [charge.asaas_payment_id, charge.status]).sort(),
    game.subscriptions
      .flatMap(({ state }) => [...state.charges].map(([id, charge]) => [id, charge.status]))
      .sort(),
    when,
  );
  const firsts = new Set(game.subscriptions.map(({ firstCharge }) => firstCharge));
  const amounts = new Map(game.subscriptions.flatMap(({ state }) => [...state.charges]));
  // The provider's own charge also follows the price of the next invoice.
  for (const charge of charges)
    if (!firsts.has(charge.asaas_payment_id))
      assert.equal(charge.amount_cents, amounts.get(charge.asaas_payment_id)!.amountCents, when);
  await compareCurrent(game, when);
}

async function compareCurrent(game: Play, when: string): Promise<void> {
  const { state } = game.subscriptions.at(-1)!;
  const shown = await readCurrentSubscription(billing.billing, game);
  if (state.cancelled || state.closed) {
    assert.equal(shown.next_plan_code, null, when);
    return;
  }
  assert.deepEqual(
    {
      plan: shown.plan_code,
      next: shown.next_plan_code,
      flagged: shown.cancel_at_period_end,
      end: Date.parse(shown.current_period_end),
      items: shown.items
        .map((item) => [item.code, item.quantity, item.unit_price_cents, item.scheduled_for_next_cycle])
        .sort(),
    },
    {
      plan: state.plan,
      next: state.nextPlan,
      flagged: state.cancelAtPeriodEnd,
      end: model.periodEnd(state),
      items: [
        [state.plan, 1, state.planPriceCents, false],
        ...[...state.addons].map(([code, item]) => [code, item.quantity, item.priceCents, item.scheduled]),
      ].sort(),
    },
    when,
  );
}

function isChangeable(state: model.ModelSubscription, now: number): boolean {
  return ['trialing', 'active', 'past_due'].includes(model.statusOf(state, now));
}

async function codeOf(call: Promise<unknown>): Promise<string | null> {
  try {
    await call;
    return null;
  } catch (err) {
    if (err instanceof ApiError) return err.code;
    throw err;
  }
}
