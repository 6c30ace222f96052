import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { MSGCTL } from '../cli/msgctl.ts';
import { type Cli, createCli } from '../cli/run-cli.ts';
import { type Standalone, startStandalone } from '../cli/start-standalone.ts';
import { baseEnv, freePort, waitFor } from '../support/process.ts';
import { CARD_CVV, CARD_NUMBER, CPF } from './billing-harness.ts';

interface Subscription {
  status: string;
  plan_code: string;
  next_plan_code: string | null;
  cancel_at_period_end: boolean;
}

describe('a whole life of a subscription, played through msgctl against npm start', () => {
  let server: Standalone;
  let cli: Cli;
  let addresses: Record<string, string>;
  before(async () => {
    const billingPort = String(await freePort());
    server = await startStandalone({ BILLING_PORT: billingPort });
    addresses = {
      POSTHORN_URL: server.url,
      POSTHORN_BILLING_URL: `http://127.0.0.1:${billingPort}`,
      SANDBOX_URL: server.sandboxUrl,
    };
    cli = createCli(addresses);
    await cli.json(['quick-register', '--email', 'owner@example.test']);
    await cli.json(['instances', 'create', 'shop']);
    await cli.json(['instances', 'connect', 'shop', '--wait']);
  });
  after(async () => {
    cli?.remove();
    await server?.stop();
  });

  const billing = (...args: string[]) => cli.json(['billing', ...args]);
  const simulate = (...args: string[]) => billing('simulate', ...args);
  const status = async () => (await cli.json<Subscription>(['billing', 'subscription'])).status;
  const becomes = (wanted: string) =>
    // Rarely enough for the rate limit of a company without a plan.
    waitFor(async () => (await status()) === wanted, 60_000, { what: `it is ${wanted}`, everyMs: 1_000 });
  const instance = async () => (await cli.json<{ state: string }>(['instances', 'get', 'shop'])).state;
  const instanceBecomes = (wanted: string) =>
    waitFor(async () => (await instance()) === wanted, 60_000, {
      what: `the instance is ${wanted}`,
      everyMs: 1_000,
    });

  it('goes from the profile to the trial', async () => {
    const plans = await cli.json<{ data: unknown[] }>(['billing', 'plans', '--cycle', 'monthly']);
    assert.ok(plans.data.length >= 2);
    assert.equal((await cli.run(['billing', 'subscribe', 'pro_monthly'])).code === 0, false);
    const profile = await billing('profile', 'create', '--name', 'Maria da Silva', '--cpf', CPF);
    assert.equal(profile.document_number, CPF);
    assert.equal((await addCard()).code, 0);
    const cards = await cli.json<{ data: { last4: string; is_default: boolean }[] }>(['billing', 'cards']);
    assert.deepEqual(
      cards.data.map((card) => [card.last4, card.is_default]),
      [[CARD_NUMBER.slice(-4), true]],
    );
    const subscription = await billing(
      'subscribe',
      'starter_monthly',
      '--by',
      'pix',
      '--addon',
      'extra_user=2',
    );
    assert.equal(subscription.status, 'trialing');
    const charges = await cli.json<{ data: { status: string; pix_copy_paste: string }[] }>([
      'billing',
      'charges',
    ]);
    assert.equal(charges.data.length, 1);
    assert.match(charges.data[0]!.pix_copy_paste, /^000201/);
    assert.equal(await instance(), 'CONNECTED');
  });

  it('is paid, and changes its plan with the next payment', async () => {
    await simulate('pay');
    await becomes('active');
    await billing('change-plan', 'pro_monthly');
    const scheduled = await cli.json<Subscription>(['billing', 'subscription']);
    assert.deepEqual([scheduled.plan_code, scheduled.next_plan_code], ['starter_monthly', 'pro_monthly']);
    await simulate('pay');
    await waitFor(
      async () => (await cli.json<Subscription>(['billing', 'subscription'])).plan_code === 'pro_monthly',
      60_000,
      { everyMs: 100 },
    );
    assert.equal(await status(), 'active');
  });

  it('is overdue, and three days later suspended: the instance is disconnected and stays so', async () => {
    await simulate('overdue');
    await becomes('past_due');
    assert.equal(await instance(), 'CONNECTED');
    await simulate('clock', '--days', '2');
    assert.equal(await status(), 'past_due');
    await simulate('clock', '--days', '1', '--hours', '1');
    assert.equal(await status(), 'suspended');
    await instanceBecomes('DISCONNECTED');
    const refused = await cli.run(['instances', 'connect', 'shop', '--json']);
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr + refused.stdout, /COMPANY_SUSPENDED/);
  });

  it('is paid, and the instance is connected again', async () => {
    await simulate('pay');
    await becomes('active');
    await instanceBecomes('CONNECTED');
  });

  it('is charged back, which suspends at once, and paid again', async () => {
    await simulate('chargeback');
    await becomes('suspended');
    await instanceBecomes('DISCONNECTED');
    await simulate('pay');
    await becomes('active');
    await instanceBecomes('CONNECTED');
  });

  it('is cancelled: first for the end of the period, then it is over', async () => {
    const flagged = await cli.json<Subscription>(['billing', 'cancel', '--reason', 'enough', '--yes']);
    assert.deepEqual([flagged.status, flagged.cancel_at_period_end], ['active', true]);
    await simulate('clock', '--days', '400');
    assert.equal(await status(), 'cancelled');
    // On the free plan again: connected instances stay connected.
    assert.equal(await instance(), 'CONNECTED');
  });

  it('begins anew by card, without a second trial: nothing runs until the card is charged, on the same day', async () => {
    const { data } = await cli.json<{ data: { id: number }[] }>(['billing', 'cards']);
    const subscription = await billing(
      'subscribe',
      'starter_yearly',
      '--by',
      'credit_card',
      '--card',
      String(data[0]!.id),
    );
    assert.equal(subscription.status, 'expired');
    await simulate('clock', '--hours', '20');
    await becomes('active');
    const now = await billing('cancel', '--now', '--yes');
    assert.equal(now.status, 'cancelled');
  });

  it('by boleto it stays over when nobody pays', async () => {
    const subscription = await billing('subscribe', 'starter_monthly', '--by', 'boleto');
    assert.equal(subscription.status, 'expired');
    await simulate('clock', '--days', '30');
    assert.equal(await status(), 'expired');
  });

  /** The card is read from standard input. */
  async function addCard(): Promise<{ code: number | null }> {
    const args = ['billing', 'cards', 'add', '--exp-month', '12', '--exp-year', '2035', '--holder', 'MARIA'];
    const child = spawn(process.execPath, [MSGCTL, ...args], {
      env: { ...baseEnv(), POSTHORN_CONFIG: cli.config, ...addresses },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.end(`${CARD_NUMBER}\n${CARD_CVV}\n`);
    const [[code], stdout] = await Promise.all([once(child, 'exit'), text(child.stdout)]);
    assert.ok(!stdout.includes(CARD_NUMBER));
    return { code };
  }
});
