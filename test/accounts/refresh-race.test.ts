import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { testRefreshRaces } from './refresh-race.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { cookiesOf } from './support/api-client.ts';
import { newOwner } from './support/people.ts';

testRefreshRaces(30);

describe('a refresh and a logout that race', () => {
  let server: AccountServer;
  before(async () => {
    server = await startAccountServer();
  });
  after(() => server.close());

  test('a refresh that races with the logout never outlives it', async () => {
    for (let round = 0; round < 20; round++) {
      const person = await newOwner(server, { verified: false });
      const [refreshed] = await Promise.all([
        server.api('POST', '/v1/auth/refresh', { cookies: person.cookies, csrf: person.csrf }),
        server.api('POST', '/v1/auth/logout', { jwt: person.jwt }),
      ]);
      if (refreshed.status !== 200) continue;
      const cookies = cookiesOf(refreshed);
      const again = await server.api('POST', '/v1/auth/refresh', { cookies, csrf: person.csrf });
      assert.equal(again.status, 401);
    }
  });
});
