import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '../support/process.ts';
import { CNPJ, CPF, PROFILE, startTestBilling, type TestBilling, withProfile } from './billing-harness.ts';

const PATH = '/v1/billing/profile';
let billing: TestBilling;
before(async () => {
  billing = await startTestBilling();
});
after(() => billing.close());

const create = async (body: unknown) => {
  const company = await billing.company();
  return billing.call('POST', PATH, { key: company.apiKey, body });
};

function assertReduced(body: Record<string, unknown>, code: string): void {
  assert.equal(body.error_code, code);
  assert.deepEqual(Object.keys(body).sort(), ['error_code', 'message']);
}

describe('POST /v1/billing/profile', () => {
  it('creates the profile and the customer at the provider', async () => {
    const company = await billing.company();
    const { status, body } = await billing.call('POST', PATH, { key: company.apiKey, body: PROFILE });
    assert.equal(status, 201);
    assert.deepEqual(body, {
      ...PROFILE,
      id: body.id,
      document_number: CPF,
      asaas_customer_id: body.asaas_customer_id,
    });
    assert.ok(Number.isInteger(body.id));
    const { rows } = await billing.parts.db.query<{ fields: { documentNumber: string } }>(
      'SELECT fields FROM billing.simulated_customers WHERE id = $1',
      [body.asaas_customer_id],
    );
    assert.equal(rows[0]!.fields.documentNumber, CPF);
    const read = await billing.call('GET', PATH, { key: company.apiKey });
    assert.equal(read.status, 200);
    assert.deepEqual(read.body, body);
  });

  it('accepts a CNPJ with only the required fields', async () => {
    const { status, body } = await create({
      document_type: 'cnpj',
      document_number: CNPJ,
      legal_name: 'Silva Doces Ltda',
    });
    assert.equal(status, 201);
    assert.equal(body.document_number, CNPJ);
    assert.equal(body.address, null);
    assert.equal(body.email, null);
  });

  for (const [what, document] of Object.entries({
    'wrong check digits of a CPF': { document_type: 'cpf', document_number: '52998224724' },
    'wrong check digits of a CNPJ': { document_type: 'cnpj', document_number: '11222333000180' },
    'a CPF called a CNPJ': { document_type: 'cnpj', document_number: CPF },
    'equal digits': { document_type: 'cpf', document_number: '11111111111' },
    letters: { document_type: 'cpf', document_number: '5299822472a' },
    'an unknown type': { document_type: 'rg', document_number: CPF },
    'no document': {},
  }))
    it(`refuses ${what} with 400 INVALID_DOCUMENT`, async () => {
      const { status, body } = await create({ legal_name: 'Maria', ...document });
      assert.equal(status, 400);
      assertReduced(body, 'INVALID_DOCUMENT');
    });

  it('names the fault of the body: 400 INVALID_JSON', async () => {
    const company = await billing.company();
    const broken = await billing.call('POST', PATH, { key: company.apiKey, raw: '{"document_type":' });
    assert.equal(broken.status, 400);
    assertReduced(broken.body, 'INVALID_JSON');
    for (const [body, field] of [
      [{ ...PROFILE, legal_name: undefined }, 'legal_name'],
      [{ ...PROFILE, legal_name: 7 }, 'legal_name'],
      [{ ...PROFILE, address: { zip: 1310 } }, 'address.zip'],
      [{ ...PROFILE, document_number: 52998224725 }, 'document_number'],
    ] as const) {
      const refused = await billing.call('POST', PATH, { key: company.apiKey, body });
      assert.equal(refused.status, 400);
      assertReduced(refused.body, 'INVALID_JSON');
      assert.ok(refused.body.message.startsWith(`${field}:`), refused.body.message);
    }
  });

  it('answers 409 PROFILE_EXISTS the second time, also when both come at once', async () => {
    const company = await withProfile(billing);
    const again = await billing.call('POST', PATH, { key: company.apiKey, body: PROFILE });
    assert.equal(again.status, 409);
    assertReduced(again.body, 'PROFILE_EXISTS');
    const other = await billing.company();
    const both = await Promise.all(
      Array.from({ length: 8 }, () => billing.call('POST', PATH, { key: other.apiKey, body: PROFILE })),
    );
    assert.deepEqual(both.map((answer) => answer.status).sort(), [
      201,
      ...Array.from({ length: 7 }, () => 409),
    ]);
    const { rows } = await billing.parts.db.query(
      `SELECT FROM billing.simulated_customers WHERE external_reference IN
         (SELECT reference::text FROM billing.provider_intents WHERE company_id = $1)`,
      [other.companyId],
    );
    assert.equal(rows.length, 1);
  });

  it('answers 404 COMPANY_NOT_FOUND for a company that is gone while its key is still believed', async () => {
    const company = await billing.company();
    assert.equal((await billing.call('GET', '/v1/billing/cards', { key: company.apiKey })).status, 200);
    await billing.parts.db.query(`UPDATE companies SET status = 'deleted' WHERE id = $1`, [
      company.companyId,
    ]);
    const { status, body } = await billing.call('POST', PATH, { key: company.apiKey, body: PROFILE });
    assert.equal(status, 404);
    assertReduced(body, 'COMPANY_NOT_FOUND');
  });

  it('answers 500 INTERNAL with an incident id when it cannot be stored, and leaves no customer behind', async () => {
    const company = await billing.company();
    await billing.parts.db.query('REVOKE INSERT ON billing.profiles FROM posthorn_billing');
    const { status, body, headers } = await billing.call('POST', PATH, {
      key: company.apiKey,
      body: PROFILE,
    });
    await billing.parts.db.query('GRANT INSERT ON billing.profiles TO posthorn_billing');
    assert.equal(status, 500);
    assert.equal(body.error_code, 'INTERNAL');
    assert.equal(body.incident_id, headers.get('x-trace-id'));
    assert.deepEqual(Object.keys(body).sort(), ['error_code', 'incident_id', 'message']);
    const stop = await billing.startWorker();
    billing.parts.clock.advance(120_000);
    await waitFor(async () => {
      const { rows } = await billing.parts.db.query<{ state: string; deleted: boolean }>(
        `SELECT state, deleted FROM billing.provider_intents JOIN billing.simulated_customers
           ON external_reference = reference::text WHERE company_id = $1`,
        [company.companyId],
      );
      return rows.length === 1 && rows[0]!.state === 'undone' && rows[0]!.deleted;
    });
    await stop();
    assert.equal((await billing.call('POST', PATH, { key: company.apiKey, body: PROFILE })).status, 201);
  });
});

describe('GET /v1/billing/profile', () => {
  it('answers 404 PROFILE_NOT_FOUND before there is one', async () => {
    const company = await billing.company();
    const { status, body } = await billing.call('GET', PATH, { key: company.apiKey });
    assert.equal(status, 404);
    assertReduced(body, 'PROFILE_NOT_FOUND');
  });
});

describe('PATCH /v1/billing/profile', () => {
  it('changes the mutable fields, leaves the document alone, and updates the provider', async () => {
    const company = await withProfile(billing, CPF);
    const { status, body } = await billing.call('PATCH', PATH, {
      key: company.apiKey,
      body: {
        email: 'New@Example.Test',
        phone: null,
        legal_name: 'Maria Souza',
        address: { city: 'Campinas' },
        document_type: 'cnpj',
        document_number: CNPJ,
      },
    });
    assert.equal(status, 200);
    assert.equal(body.email, 'new@example.test');
    assert.equal(body.phone, null);
    assert.equal(body.legal_name, 'Maria Souza');
    assert.equal(body.trade_name, PROFILE.trade_name);
    assert.equal(body.address.city, 'Campinas');
    assert.equal(body.address.zip, null);
    assert.equal(body.document_type, 'cpf');
    assert.equal(body.document_number, CPF);
    const stop = await billing.startWorker();
    await waitFor(async () => {
      const { rows } = await billing.parts.db.query<{ fields: { email: string } }>(
        'SELECT fields FROM billing.simulated_customers WHERE id = $1',
        [body.asaas_customer_id],
      );
      return rows[0]!.fields.email === 'new@example.test';
    });
    await stop();
  });

  it('answers 404 PROFILE_NOT_FOUND before there is one', async () => {
    const company = await billing.company();
    const { status, body } = await billing.call('PATCH', PATH, { key: company.apiKey, body: { phone: '1' } });
    assert.equal(status, 404);
    assertReduced(body, 'PROFILE_NOT_FOUND');
  });

  it('changes nobody else’s', async () => {
    const [mine, theirs] = [await withProfile(billing), await withProfile(billing)];
    await billing.call('PATCH', PATH, { key: mine.apiKey, body: { trade_name: 'Mine' } });
    assert.equal(
      (await billing.call('GET', PATH, { key: theirs.apiKey })).body.trade_name,
      PROFILE.trade_name,
    );
  });
});
