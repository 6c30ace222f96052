import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { tellFigure } from '../support/figures.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { newCompanyName, newEmail, PASSWORD } from './support/people.ts';

/** Requests under way; each comes from an address that has not asked before. */
const CLIENTS = 60;
const ROUNDS = 4;

let server: AccountServer;
before(async () => {
  server = await startAccountServer({ TRUSTED_PROXIES: '127.0.0.1', PUBLIC_RATE_PER_MINUTE: '20' });
});
after(() => server.close());

const from = (address: string) => ({ 'x-forwarded-for': address });

async function newAccount(address: string): Promise<string> {
  const email = newEmail();
  const body = { company_name: newCompanyName(), owner_email: email, owner_name: 'O', password: PASSWORD };
  const made = await server.api('POST', '/v1/auth/register', { body, headers: from(address) });
  assert.equal(made.status, 201);
  return email;
}

const logIn = (email: string, password: string, address: string) =>
  server.api('POST', '/v1/auth/login', { body: { email, password }, headers: from(address) });

/** Wrong logins from many addresses at a time, again and again, until it is stopped. */
function startFlood() {
  let going = true;
  const statuses = new Map<number, number>();
  const clients = Array.from({ length: CLIENTS }, async (_, i) => {
    for (let nth = 0; going; nth += 1) {
      const address = `203.${nth & 255}.${nth >> 8}.${i}`;
      const { status } = await logIn(`nobody-${i}-${nth}@example.test`, 'a wrong password', address);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  return {
    statuses,
    async stop() {
      going = false;
      await Promise.all(clients);
    },
  };
}

test('wrong logins from hundreds of addresses shut out nobody who has logged in before', async () => {
  const byAddress = await newAccount('198.51.100.1');
  const byAccount = await newAccount('198.51.100.2');
  const first = await logIn(byAddress, PASSWORD, '198.51.100.1');
  assert.equal(first.status, 200);
  assert.equal((await logIn(byAccount, PASSWORD, '198.51.100.2')).status, 200);
  const flood = startFlood();
  let slowestMs = 0;
  try {
    for (let i = 0; i < ROUNDS; i += 1) {
      const begun = performance.now();
      // One logs in from its usual address, the other from a new one; a third request is of a user who is logged in.
      const logins = await Promise.all([
        logIn(byAddress, PASSWORD, '198.51.100.1'),
        logIn(byAccount, PASSWORD, `192.0.2.${i}`),
        server.api('PATCH', '/v1/auth/me/password', {
          jwt: first.body.token,
          body: { current_password: 'not the password', new_password: 'another password' },
        }),
      ]);
      slowestMs = Math.max(slowestMs, performance.now() - begun);
      assert.deepEqual(
        logins.map(({ status }) => status),
        [200, 200, 401],
      );
    }
  } finally {
    await flood.stop();
  }
  console.log(`the flood was answered ${[...flood.statuses].map(([s, n]) => `${n} × ${s}`).join(', ')}`);
  assert.ok([...flood.statuses.values()].reduce((sum, n) => sum + n, 0) >= CLIENTS);
  tellFigure('slowest login of a known one, ms', Math.round(slowestMs), { atMost: 2_000 });
});
