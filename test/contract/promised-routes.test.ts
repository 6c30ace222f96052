import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { PROMISED } from './promised-routes.ts';

const contract = {
  messaging: new Set(listRoutes(messagingContract).map(({ route }) => keyOf(route))),
  billing: new Set(listRoutes(billingContract).map(({ route }) => keyOf(route))),
};

describe('every promised route', () => {
  for (const [area, { service, routes, planned }] of Object.entries(PROMISED)) {
    if (planned === undefined) {
      test(`${area}: all of them are in the contract`, () => {
        assert.deepEqual(
          routes.filter((route) => !contract[service].has(route)),
          [],
        );
      });
    } else {
      test(`${area}: none of them is in the contract, since ${planned}`, () => {
        assert.ok(planned.length > 10);
        assert.deepEqual(
          routes.filter((route) => contract[service].has(route)),
          [],
          `take the line "planned" of ${area} away`,
        );
      });
    }
  }

  test('and the contract has no other', () => {
    for (const service of ['messaging', 'billing'] as const) {
      const promised = Object.values(PROMISED)
        .filter((area) => area.service === service)
        .flatMap(({ routes }) => routes);
      assert.equal(new Set(promised).size, promised.length, `${service}: a route stands twice in the table`);
      assert.deepEqual(
        [...contract[service]].filter((route) => !promised.includes(route)),
        [],
        service,
      );
    }
  });
});

function keyOf({ method, path }: { method: string; path: string }): string {
  return `${method} ${path.replace(/:\w+/g, '{}')}`;
}
