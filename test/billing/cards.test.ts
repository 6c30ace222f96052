import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CARDS_MAX } from '@posthorn/contract/limits.ts';
import { askUntilServed } from '../support/ask-until-served.ts';
import { CARD_CVV, CARD_NUMBER, startTestBilling, type TestBilling, withProfile } from './billing-harness.ts';

const PATH = '/v1/billing/cards';
let billing: TestBilling;
before(async () => {
  billing = await startTestBilling();
});
after(() => billing.close());

const card = (company: { profileId: number }, change: Record<string, unknown> = {}) => ({
  billing_profile_id: company.profileId,
  number: CARD_NUMBER,
  holder_name: 'MARIA D SILVA',
  exp_month: 7,
  exp_year: 2034,
  cvv: CARD_CVV,
  ...change,
});

function assertRefused(
  answer: { status: number; body: Record<string, unknown> },
  status: number,
  code: string,
): void {
  assert.deepEqual([answer.status, answer.body.error_code], [status, code], answer.body.message as string);
}

describe('POST /v1/billing/cards/tokenize', () => {
  it('keeps and shows only harmless fields; the first card is the default', async () => {
    const company = await withProfile(billing);
    const { status, body } = await billing.call('POST', `${PATH}/tokenize`, {
      key: company.apiKey,
      body: card(company),
    });
    assert.equal(status, 201);
    assert.deepEqual(body, {
      id: body.id,
      brand: 'mastercard',
      last4: '8829',
      exp_month: 7,
      exp_year: 2034,
      holder_name: 'MARIA D SILVA',
      is_default: true,
    });
    const second = await billing.call('POST', `${PATH}/tokenize`, {
      key: company.apiKey,
      body: card(company, { number: '4111 1111 1111 1111', exp_year: 35, holder_name: undefined }),
    });
    assert.equal(second.status, 201);
    assert.deepEqual(
      [second.body.brand, second.body.is_default, second.body.exp_year, second.body.holder_name],
      ['visa', false, 2035, 'Maria da Silva'],
    );
    const listed = await billing.call('GET', PATH, { key: company.apiKey });
    assert.deepEqual(listed.body, { data: [body, second.body] });
  });

  for (const field of ['billing_profile_id', 'number', 'exp_month', 'exp_year', 'cvv'])
    it(`answers 400 MISSING_FIELDS without ${field}`, async () => {
      const company = await withProfile(billing);
      assertRefused(
        await billing.call('POST', `${PATH}/tokenize`, {
          key: company.apiKey,
          body: card(company, { [field]: undefined }),
        }),
        400,
        'MISSING_FIELDS',
      );
    });

  it('answers 400 INVALID_JSON for a wrong type, and repeats nothing of the card', async () => {
    const company = await withProfile(billing);
    for (const change of [{ number: Number(CARD_NUMBER) }, { exp_month: '7' }, { cvv: 318 }]) {
      const answer = await billing.call('POST', `${PATH}/tokenize`, {
        key: company.apiKey,
        body: card(company, change),
      });
      assertRefused(answer, 400, 'INVALID_JSON');
      assert.ok(!answer.text.includes(CARD_NUMBER) && !answer.text.includes(CARD_CVV));
    }
    assertRefused(
      await billing.call('POST', `${PATH}/tokenize`, {
        key: company.apiKey,
        raw: `{"number":"${CARD_NUMBER}","cvv":`,
      }),
      400,
      'INVALID_JSON',
    );
  });

  it('answers 404 PROFILE_NOT_FOUND for a profile that is not the company’s', async () => {
    const [mine, theirs] = [await withProfile(billing), await withProfile(billing)];
    for (const company of [theirs, { profileId: 999_999 }])
      assertRefused(
        await billing.call('POST', `${PATH}/tokenize`, { key: mine.apiKey, body: card(company) }),
        404,
        'PROFILE_NOT_FOUND',
      );
  });

  for (const [what, change] of Object.entries({
    'whose check digit is wrong': { number: '5162306219378828' },
    'that the provider refuses': { number: '4000000000000002' },
    'with too few digits': { number: '5162' },
    'with letters': { number: '516230621937882x' },
    'with a month that there is not': { exp_month: 13 },
    'with a year that there is not': { exp_year: 1800 },
    'with a CVV that is none': { cvv: '12a' },
  }))
    it(`answers 422 CARD_REJECTED for a card ${what}`, async () => {
      const company = await withProfile(billing);
      assertRefused(
        await billing.call('POST', `${PATH}/tokenize`, { key: company.apiKey, body: card(company, change) }),
        422,
        'CARD_REJECTED',
      );
      assert.deepEqual((await billing.call('GET', PATH, { key: company.apiKey })).body.data, []);
    });

  it('keeps 50 cards, also when many come at once, and answers 422 CARD_REJECTED to one more until one is removed', async () => {
    const company = await withProfile(billing);
    const tokenize = () =>
      billing.call('POST', `${PATH}/tokenize`, { key: company.apiKey, body: card(company) });
    const answers = await Promise.all(Array.from({ length: CARDS_MAX + 10 }, () => askUntilServed(tokenize)));
    assert.equal(answers.filter(({ status }) => status === 201).length, CARDS_MAX);
    assertRefused(answers.find(({ status }) => status !== 201)!, 422, 'CARD_REJECTED');
    const { body } = await billing.call('GET', PATH, { key: company.apiKey });
    assert.equal(body.data.length, CARDS_MAX);
    await billing.call('DELETE', `${PATH}/${body.data[0].id}`, { key: company.apiKey });
    assert.equal((await tokenize()).status, 201);
    assertRefused(await tokenize(), 422, 'CARD_REJECTED');
  });

  it('takes a card until its month is over where the provider is, and answers 422 CARD_REJECTED after it', async () => {
    const company = await withProfile(billing);
    const { clock } = billing.parts;
    const tokenize = (exp_year: number) =>
      billing.call('POST', `${PATH}/tokenize`, {
        key: company.apiKey,
        body: card(company, { exp_month: 12, exp_year }),
      });
    const year = clock.now().getUTCFullYear();
    // Three hours after midnight in UTC.
    clock.advance(Date.UTC(year + 1, 0, 1, 3) - clock.now().getTime() - 1);
    assert.equal((await tokenize(year)).status, 201);
    clock.advance(1);
    assertRefused(await tokenize(year), 422, 'CARD_REJECTED');
    assertRefused(await tokenize(year % 100), 422, 'CARD_REJECTED');
    assert.equal((await tokenize(year + 1)).status, 201);
  });
});

describe('PATCH /v1/billing/cards/{id}/default and DELETE /v1/billing/cards/{id}', () => {
  async function twoCards() {
    const company = await withProfile(billing);
    const ids: number[] = [];
    for (const number of [CARD_NUMBER, '4111111111111111']) {
      const made = await billing.call('POST', `${PATH}/tokenize`, {
        key: company.apiKey,
        body: card(company, { number }),
      });
      ids.push(made.body.id);
    }
    const defaults = async () =>
      (await billing.call('GET', PATH, { key: company.apiKey })).body.data.map(
        (each: { id: number; is_default: boolean }) => [each.id, each.is_default],
      );
    return { company, first: ids[0]!, second: ids[1]!, defaults };
  }

  it('makes a card the only default, also when many ask at once', async () => {
    const { company, first, second, defaults } = await twoCards();
    const answer = await billing.call('PATCH', `${PATH}/${second}/default`, { key: company.apiKey });
    assert.equal(answer.status, 204);
    assert.deepEqual(await defaults(), [
      [first, false],
      [second, true],
    ]);
    await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        billing.call('PATCH', `${PATH}/${i % 2 ? first : second}/default`, { key: company.apiKey }),
      ),
    );
    const flags = (await defaults()).map(([, isDefault]: [number, boolean]) => isDefault);
    assert.equal(flags.filter(Boolean).length, 1);
  });

  it('removes a card, and another becomes the default', async () => {
    const { company, first, second, defaults } = await twoCards();
    assert.equal((await billing.call('DELETE', `${PATH}/${first}`, { key: company.apiKey })).status, 204);
    assert.deepEqual(await defaults(), [[second, true]]);
    assert.equal((await billing.call('DELETE', `${PATH}/${first}`, { key: company.apiKey })).status, 204);
    const { rows } = await billing.parts.db.query<{ token: Buffer }>(
      'SELECT token FROM billing.cards WHERE id = $1',
      [first],
    );
    assert.equal(rows[0]!.token.length, 0);
  });

  it('answers 400 INVALID_ID for a text that is no id', async () => {
    const { company } = await twoCards();
    assertRefused(
      await billing.call('PATCH', `${PATH}/abc/default`, { key: company.apiKey }),
      400,
      'INVALID_ID',
    );
    assertRefused(await billing.call('DELETE', `${PATH}/abc`, { key: company.apiKey }), 400, 'INVALID_ID');
  });

  it('touches nobody else’s cards', async () => {
    const { company, first, second, defaults } = await twoCards();
    const theirs = await twoCards();
    assertRefused(
      await billing.call('PATCH', `${PATH}/${theirs.second}/default`, { key: company.apiKey }),
      404,
      'NOT_FOUND',
    );
    assertRefused(
      await billing.call('PATCH', `${PATH}/999999/default`, { key: company.apiKey }),
      404,
      'NOT_FOUND',
    );
    assert.equal(
      (await billing.call('DELETE', `${PATH}/${theirs.first}`, { key: company.apiKey })).status,
      204,
    );
    assert.deepEqual(await defaults(), [
      [first, true],
      [second, false],
    ]);
    assert.deepEqual(await theirs.defaults(), [
      [theirs.first, true],
      [theirs.second, false],
    ]);
  });

  it('answers 500 DB_ERROR when the change cannot be stored', async () => {
    const { company, first, second } = await twoCards();
    await billing.parts.db.query('REVOKE UPDATE ON billing.cards FROM posthorn_billing');
    const answers = [
      await billing.call('PATCH', `${PATH}/${second}/default`, { key: company.apiKey }),
      await billing.call('DELETE', `${PATH}/${first}`, { key: company.apiKey }),
    ];
    await billing.parts.db.query('GRANT UPDATE ON billing.cards TO posthorn_billing');
    for (const answer of answers) {
      assertRefused(answer, 500, 'DB_ERROR');
      assert.equal(answer.body.incident_id, answer.headers.get('x-trace-id'));
    }
  });
});
