import assert from 'node:assert/strict';
import type { AccountServer } from './account-server.ts';
import { linkTokenIn } from './mailbox.ts';
import { logIn, PASSWORD, type Person, personOf } from './people.ts';

export const ROOT_EMAIL = 'root@platform.example.test';

/** The superadmin that SUPERADMIN_EMAILS named: invited by mail at start, logged in over the API. */
export async function newSuperadmin(server: AccountServer, email = ROOT_EMAIL): Promise<Person> {
  const token = linkTokenIn(await server.lastMail(email));
  const accepted = await server.api('POST', '/v1/auth/reset-password', {
    body: { token, password: PASSWORD },
  });
  assert.equal(accepted.status, 200, accepted.text);
  const person = personOf(await logIn(server, email), email, PASSWORD, '');
  const key = await server.api('POST', '/v1/tokens', { jwt: person.jwt, body: {} });
  assert.equal(key.status, 201, key.text);
  return { ...person, key: key.body.token };
}
