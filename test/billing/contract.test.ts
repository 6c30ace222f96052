import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import {
  billingErrorEnvelope,
  errorCatalogue,
  errorEnvelope,
  isErrorCode,
} from '@posthorn/contract/errors.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { errorsOf, metaOf } from '@posthorn/contract/route-meta.ts';

interface Operation {
  security: object[];
  responses: Record<string, { $ref?: string }>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, object>; schemas: Record<string, object> };
}

const document = JSON.parse(
  readFileSync(new URL('../../openapi/billing.json', import.meta.url), 'utf8'),
) as Document;
const routes = listRoutes(billingContract);

/** Every route of billing with its credentials, its answer and its own codes, written down apart from the contract. */
const ROWS: [string, 'none' | 'any', number, Record<string, number>][] = [
  ['GET /health', 'none', 200, {}],
  ['GET /ready', 'none', 200, {}],
  ['GET /v1/billing/plans', 'none', 200, {}],
  ['GET /v1/billing/addons', 'none', 200, {}],
  ['GET /v1/billing/profile', 'any', 200, { PROFILE_NOT_FOUND: 404 }],
  [
    'POST /v1/billing/profile',
    'any',
    201,
    { INVALID_DOCUMENT: 400, INVALID_JSON: 400, COMPANY_NOT_FOUND: 404, PROFILE_EXISTS: 409, INTERNAL: 500 },
  ],
  ['PATCH /v1/billing/profile', 'any', 200, { PROFILE_NOT_FOUND: 404 }],
  ['GET /v1/billing/subscriptions/current', 'any', 200, { SUBSCRIPTION_NOT_FOUND: 404 }],
  [
    'POST /v1/billing/subscriptions',
    'any',
    201,
    {
      PLAN_NOT_FOUND: 400,
      PROFILE_REQUIRED: 400,
      INVALID_BILLING_TYPE: 400,
      CARD_REQUIRED: 400,
      INVALID_JSON: 400,
      INVALID_QUANTITY: 400,
      ADDON_NOT_FOUND: 400,
      SUBSCRIPTION_EXISTS: 409,
    },
  ],
  [
    'POST /v1/billing/subscriptions/:id/change-plan',
    'any',
    202,
    {
      INVALID_ID: 400,
      INVALID_JSON: 400,
      ALREADY_ON_PLAN: 400,
      SUBSCRIPTION_NOT_ACTIVE: 400,
      PLAN_NOT_FOUND: 404,
      SUBSCRIPTION_NOT_FOUND: 404,
    },
  ],
  ['POST /v1/billing/subscriptions/:id/cancel', 'any', 204, { INVALID_ID: 400, SUBSCRIPTION_NOT_FOUND: 404 }],
  [
    'POST /v1/billing/subscriptions/:id/items',
    'any',
    202,
    {
      INVALID_ID: 400,
      INVALID_JSON: 400,
      INVALID_QUANTITY: 400,
      ADDON_NOT_FOUND: 404,
      SUBSCRIPTION_NOT_FOUND: 404,
    },
  ],
  [
    'DELETE /v1/billing/subscriptions/:id/items/:itemId',
    'any',
    204,
    { INVALID_ID: 400, ITEM_NOT_FOUND: 404 },
  ],
  ['GET /v1/billing/cards', 'any', 200, {}],
  [
    'POST /v1/billing/cards/tokenize',
    'any',
    201,
    { INVALID_JSON: 400, MISSING_FIELDS: 400, PROFILE_NOT_FOUND: 404, CARD_REJECTED: 422 },
  ],
  ['PATCH /v1/billing/cards/:id/default', 'any', 204, { INVALID_ID: 400, DB_ERROR: 500 }],
  ['DELETE /v1/billing/cards/:id', 'any', 204, { INVALID_ID: 400, DB_ERROR: 500 }],
  ['GET /v1/billing/charges', 'any', 200, {}],
  ['POST /v1/webhooks/asaas', 'none', 200, { UNAUTHORIZED: 401, BAD_REQUEST: 400, INTERNAL: 500 }],
];

describe('the billing contract', () => {
  for (const [key, auth, success, codes] of ROWS)
    it(`has ${key}, answering ${success} and its codes with their statuses`, () => {
      const route = routes.find(({ route }) => `${route.method} ${route.path}` === key)?.route;
      assert.ok(route);
      assert.equal(metaOf(route).auth, auth);
      assert.deepEqual(
        Object.keys(route.responses)
          .map(Number)
          .filter((status) => status < 400),
        [success],
      );
      for (const [code, status] of Object.entries(codes)) {
        assert.ok(isErrorCode(code));
        assert.ok(errorsOf(route).includes(code), code);
        assert.deepEqual(metaOf(route).statuses?.[code] ?? [errorCatalogue[code].status], [status], code);
        assert.ok(route.responses[status], `${code} ${status}`);
      }
    });

  for (const { name, route } of routes)
    it(`answers the errors of ${name} in the envelope of ERR-3, and documents them all`, () => {
      const operation = document.paths[route.path.replace(/:(\w+)/g, '{$1}')]?.[route.method.toLowerCase()];
      assert.ok(operation);
      assert.deepEqual(Object.keys(operation.responses), Object.keys(route.responses));
      assert.equal(operation.security.length > 0, metaOf(route).auth !== 'none');
      for (const status of Object.keys(route.responses).map(Number)) {
        if (status < 400) continue;
        // The connection itself answers 408, before there is a handler.
        const middleware = [401, 403, 408, 429].includes(status);
        assert.equal(route.responses[status], middleware ? errorEnvelope : billingErrorEnvelope, `${status}`);
      }
      const text = JSON.stringify(
        Object.values(operation.responses).map(({ $ref, ...response }) =>
          $ref ? document.components.responses[$ref.split('/').at(-1)!] : response,
        ),
      );
      for (const code of errorsOf(route)) assert.ok(text.includes(`"${code}"`), code);
    });
});
