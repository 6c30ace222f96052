import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { freePort, type RunningProcess, startProcess, waitFor } from '../support/process.ts';
import { type AsaasServer, startAsaasServer } from './asaas-server.ts';
import { PROFILE, startTestBilling, type TestBilling, WEBHOOK_SECRET } from './billing-harness.ts';
import { paymentEvent } from './provider-payloads.ts';

/** Numbers and CVVs that occur nowhere else. The provider refuses the last one with a message that quotes it. */
const CARDS = [
  { number: '5162306219378829', cvv: '7391' },
  { number: '4716 5858 1284 6605', cvv: '6284' },
  { number: '5184019740373151', cvv: '5837' },
];

let billing: TestBilling;
let asaas: AsaasServer;
let process: RunningProcess;
let url: string;
before(async () => {
  billing = await startTestBilling();
  asaas = await startAsaasServer();
  const port = String(await freePort());
  url = `http://127.0.0.1:${port}`;
  process = await startProcess({
    entry: 'test/billing/billing-main.ts',
    ready: { url: `${url}/ready` },
    env: {
      NODE_ENV: 'test',
      // Everything that can be logged is logged.
      LOG_LEVEL: 'trace',
      DATABASE_URL: billing.parts.url,
      AMQP_URL: 'amqp://127.0.0.1',
      JWT_SECRET: 'a secret of the tests, long enough for HS256',
      ENCRYPTION_KEY: '5a'.repeat(32),
      ASAAS_WEBHOOK_SECRET: WEBHOOK_SECRET,
      ASAAS_API_KEY: '$aact_hmlg_key',
      ASAAS_BASE_URL: asaas.url,
      BILLING_PORT: port,
    },
  });
});
after(async () => {
  await process.kill('SIGTERM');
  await asaas.close();
  await billing.close();
});

it('billing leaves no card number and no CVV in the database, the logs or any answer, whatever fails', async () => {
  const answers: string[] = [];
  const post = async (path: string, key: string, body: unknown) => {
    const answer = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await answer.text();
    answers.push(JSON.stringify([...answer.headers]), text);
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
  };
  const seen: number[] = [];
  for (const { number, cvv } of CARDS) {
    const { apiKey } = await billing.company();
    const profile = await post('/v1/billing/profile', apiKey, PROFILE);
    const card = {
      billing_profile_id: profile.body.id,
      number,
      cvv,
      holder_name: 'MARIA D SILVA',
      exp_month: 7,
      exp_year: 2034,
    };
    const tokenize = async (body: unknown) =>
      seen.push((await post('/v1/billing/cards/tokenize', apiKey, body)).status);
    await tokenize(card);
    await tokenize({ ...card, number: Number(number.replaceAll(' ', '')) });
    await tokenize({ ...card, cvv: Number(cvv) });
    await tokenize({ ...card, exp_month: number });
    await tokenize({ ...card, holder_name: undefined, exp_year: undefined });
    await tokenize({ ...card, exp_month: 99 });
    await tokenize({ ...card, billing_profile_id: 999_999 });
    await tokenize(`{"number":"${number}","cvv":"${cvv}","x":`);
    await tokenize(JSON.stringify({ ...card, holder_name: '\u0000' }));
    for (const kind of ['500-before', '500-after', 'half', 'reset-before'] as const) {
      asaas.fault('POST /creditCard', { kind });
      await tokenize(card);
    }
    asaas.fault('POST /creditCard', {
      kind: 'status',
      status: 400,
      body: { errors: [{ code: `${number} ${cvv}`, description: `${number} ${cvv}` }] },
    });
    await tokenize(card);
    await billing.parts.db.query('REVOKE INSERT ON billing.cards FROM posthorn_billing');
    await tokenize(card);
    await billing.parts.db.query('GRANT INSERT ON billing.cards TO posthorn_billing');
    await subscribeByCard(apiKey, post);
  }
  for (const status of [201, 400, 404, 422, 500, 503])
    assert.ok(seen.includes(status), `no ${status} in ${seen}`);
  await waitFor(() => process.output().includes('request failed'));
  const places: Record<string, string> = {
    answers: answers.join('\n'),
    logs: process.output(),
    metrics: await (await fetch(`${url}/metrics`)).text(),
    database: await dump(billing.parts.db),
  };
  assert.ok(places.database!.includes('Maria da Silva'), 'the dump has what is stored');
  assert.ok(places.logs!.length > 1_000, 'the log says something');
  // The search does find numbers: the provider got every one of them.
  const sent = JSON.stringify(asaas.requests.map((request) => request.body));
  for (const { number, cvv } of CARDS) {
    assert.deepEqual(findings(sent, number, cvv), ['number', 'cvv']);
    for (const [place, text] of Object.entries(places))
      assert.deepEqual(findings(text, number, cvv), [], `in the ${place}`);
  }
});

/** The card's later life: the provider's webhooks about it. */
async function subscribeByCard(
  apiKey: string,
  post: (path: string, key: string, body: unknown) => Promise<{ status: number; body: unknown }>,
): Promise<void> {
  const cards = await billing.call('GET', '/v1/billing/cards', { key: apiKey });
  const [card] = cards.body.data;
  if (!card) return;
  const made = await post('/v1/billing/subscriptions', apiKey, {
    plan_code: 'starter_monthly',
    billing_type: 'credit_card',
    card_id: card.id,
  });
  assert.equal(made.status, 201);
  const subscription = made.body as { asaas_subscription_id: string; billing_type: string };
  for (const event of ['PAYMENT_CONFIRMED', 'PAYMENT_RECEIVED']) {
    const answer = await billing.deliver(
      paymentEvent(event, subscription, { at: billing.parts.clock.now() }),
    );
    assert.equal(answer.status, 200);
  }
}

function findings(text: string, number: string, cvv: string): string[] {
  const digits = number.replaceAll(' ', '');
  const spaced = digits.replace(/(\d{4})(?=\d)/g, '$1[ -]?');
  const encoded = [Buffer.from(digits).toString('base64').slice(0, 18), Buffer.from(digits).toString('hex')];
  const found = [];
  if (new RegExp(spaced).test(text) || encoded.some((form) => text.includes(form))) found.push('number');
  // As a whole word: not as a part of a uuid, a time or a longer number.
  if (new RegExp(`(?<![\\w.:+-])${cvv}(?![\\w.:-])`).test(text)) found.push('cvv');
  return found;
}

/** Every row of every table, as text. */
async function dump(db: Db): Promise<string> {
  const tables = await db.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  const rows: string[] = [];
  for (const { name } of tables.rows) {
    const { rows: found } = await db.query<{ text: string }>(`SELECT t::text AS text FROM ${name} t`);
    rows.push(...found.map((row) => row.text));
  }
  return rows.join('\n');
}
