import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { billingBodies } from '@posthorn/contract/examples/billing.ts';
import {
  startTestBilling,
  type TestBilling,
  WEBHOOK_SECRET,
  withProfile,
} from '../billing/billing-harness.ts';
import { paramKind } from '../server/fixtures.ts';
import { seedIds } from '../server/seed-ids.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type Document, operationsOf, readDocument, SERVICES } from '../support/openapi-documents.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';
import { drawn, NO_CREDENTIAL, paste, sampleOf } from './reference-samples.ts';

/**
 * Operations that fail from a sample: they need a token that is mailed or given to a browser, or the handshake of a
 * WebSocket.
 */
const REFUSED: Readonly<Record<string, string>> = {
  'auth.resetPassword': 'RESET_TOKEN_INVALID',
  'oauth.completeSignup': 'OAUTH_PENDING_INVALID',
  'events.ws': 'BAD_REQUEST',
};

describe('the samples of the reference of messaging', () => {
  let api: TestMessaging;
  let document: Document;
  let other: SeededCompany;
  before(async () => {
    api = await startTestMessaging({
      SUPERADMIN_EMAILS: 'root@platform.test',
      PUBLIC_RATE_PER_MINUTE: '10000',
      PLAYGROUND_ENABLED: 'true',
    });
    document = await servedDocument(api.url);
    other = await seedCompany(api.parts.db);
    // The first sample that a reader pastes; the samples of passwords and the login use the same account.
    const registered = await paste(sampleOf(document, operation('auth.register'), api));
    assert.equal(registered.status, 201, registered.text);
  });
  after(() => api?.close());
  const operation = (name: string) =>
    operationsOf(document).find((found) => found.operation.operationId === name)!;

  for (const { operation: committed } of operationsOf(readDocument('messaging'))) {
    const { operationId: name, security } = committed;
    test(`${name} works when it is pasted`, async () => {
      const found = operation(name);
      // A company of its own, because some samples delete objects that others would need.
      const company = await seedCompany(api.parts.db);
      await api.parts.db.query(
        `UPDATE users SET password_hash = (SELECT password_hash FROM users WHERE email = 'owner@acme.test')
         WHERE id = $1`,
        [company.userId],
      );
      const seeded = await seedIds(api.parts.db, company, other);
      // No network answers here, so requests to it are refused at once.
      await api.parts.db.query(`UPDATE instances SET state = 'DISCONNECTED'`);
      const ids = Object.fromEntries(
        [...found.path.matchAll(/\{(\w+)\}/g)].map(([, param = '']) => {
          const kind = seeded[paramKind(name, param)];
          assert.ok(kind, `seed-ids.ts has no ids for ${param} of ${name}`);
          return [param, kind.own];
        }),
      );
      const sample = sampleOf(document, found, { url: api.url, ids });
      const credential = 'apiKey' in (security[0] ?? {}) ? company.apiKey : await api.jwtOf(company);
      const { status, code, text } = await paste(sample.replaceAll(NO_CREDENTIAL, credential));
      const said = `${sample}\n${status} ${text.slice(0, 500)}`;
      assert.ok(status >= 100, said);
      if (status === 400 || status === 401) assert.equal(code, REFUSED[name], said);
    });
  }
});

describe('the samples of the reference of billing', () => {
  let billing: TestBilling;
  let document: Document;
  before(async () => {
    billing = await startTestBilling();
    document = await servedDocument(billing.url);
  });
  after(() => billing?.close());

  for (const [index, { operation }] of operationsOf(readDocument('billing')).entries()) {
    const { operationId: name, security } = operation;
    test(`${name} works when it is pasted`, async () => {
      const company = await withProfile(billing);
      const card = await billing.call('POST', '/v1/billing/cards/tokenize', {
        key: company.apiKey,
        body: { ...billingBodies['cards.tokenize'], billing_profile_id: company.profileId },
      });
      const found = operationsOf(document)[index]!;
      const jwt = found.path.includes('/admin/')
        ? await billing.superadminJwt()
        : await billing.jwtOf(company);
      const credential = 'apiKey' in (security[0] ?? {}) ? company.apiKey : jwt;
      const sample = sampleOf(document, found, billing)
        .replaceAll(NO_CREDENTIAL, credential)
        .replace(/("card_id": )\d+/, `$1${card.body.id}`)
        .replaceAll('the secret of ASAAS_WEBHOOK_SECRET', WEBHOOK_SECRET);
      const { status, text } = await paste(sample);
      assert.ok(status >= 100 && status !== 400 && status !== 401, `${sample}\n${status} ${text}`);
    });
  }
});

/** The document as the page gets it, and as the page then draws it. */
async function servedDocument(url: string): Promise<Document> {
  const response = await fetch(`${url}/openapi.json`);
  return drawn((await response.json()) as Document);
}

for (const service of SERVICES) {
  const document = drawn(readDocument(service));

  test(`no sample of ${service} passes the guard, narrows a list or leaves a value empty`, () => {
    for (const found of operationsOf(document)) {
      const sample = sampleOf(document, found, { url: document.servers[0]!.url });
      const { operationId } = found.operation;
      assert.doesNotMatch(sample, /X-Force-Send/i, operationId);
      assert.doesNotMatch(sample, /: '|'[\w-]+: *'$|\{\w+\}/m, `${operationId}\n${sample}`);
      const optional = found.operation.parameters.filter(({ in: place }) => place === 'query');
      for (const { name, example } of optional as { name: string; example?: string }[])
        if (example === undefined)
          assert.ok(!sample.includes(`${name}=`), `${operationId} leaves ${name} out`);
    }
  });

  test(`every operation that takes a key shows it in X-API-Key in the samples of ${service}`, () => {
    for (const found of operationsOf(document)) {
      const takesKey = found.operation.security.some((way) => 'apiKey' in way);
      const sample = sampleOf(document, found, { url: document.servers[0]!.url });
      assert.equal(sample.includes(`X-API-Key: ${NO_CREDENTIAL}`), takesKey, found.operation.operationId);
    }
  });

  test(`the introduction of ${service} explains how to authenticate`, () => {
    assert.match(document.info.description, /X-API-Key: svc_/);
  });
}

test('messages come first in the reference', () => {
  assert.equal(readDocument('messaging').tags[0]?.name, 'messages');
});
