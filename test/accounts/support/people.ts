import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { AccountServer } from './account-server.ts';
import { type ApiAnswer, cookiesOf } from './api-client.ts';
import { codeIn } from './mailbox.ts';

export const PASSWORD = 'correct horse battery';

export interface Person {
  email: string;
  password: string;
  companyId: number;
  userId: number;
  key: string;
  jwt: string;
  cookies: Record<string, string>;
  csrf: string;
}

export function newEmail(): string {
  return `${randomUUID()}@example.test`;
}

export function newCompanyName(): string {
  return `Company ${randomUUID()}`;
}

/** Registers a company over the API; the e-mail is not verified yet. */
export async function register(server: AccountServer, email = newEmail()): Promise<ApiAnswer> {
  const answer = await server.api('POST', '/v1/auth/register', {
    body: { company_name: newCompanyName(), owner_email: email, owner_name: 'Olivia', password: PASSWORD },
  });
  assert.equal(answer.status, 201, answer.text);
  return answer;
}

export async function logIn(server: AccountServer, email: string, password = PASSWORD): Promise<ApiAnswer> {
  const answer = await server.api('POST', '/v1/auth/login', { body: { email, password } });
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

/** A registered owner with a session, over the API. `verified` enters the code of the mail. */
export async function newOwner(server: AccountServer, options: { verified?: boolean } = {}): Promise<Person> {
  const email = newEmail();
  const registered = await register(server, email);
  let session = await logIn(server, email);
  if (options.verified !== false) {
    const code = codeIn(await server.lastMail(email));
    session = await server.api('POST', '/v1/auth/verify-email', { jwt: session.body.token, body: { code } });
    assert.equal(session.status, 200, session.text);
  }
  return personOf(session, email, PASSWORD, registered.body.token);
}

/** Another user of the owner's company, with a password, a session and a key of their own. */
export async function newMember(
  server: AccountServer,
  owner: Person,
  role: 'owner' | 'admin' | 'agent',
): Promise<Person> {
  const email = newEmail();
  await server.db.query('UPDATE companies SET max_users = 1000 WHERE id = $1', [owner.companyId]);
  const created = await server.api('POST', '/v1/users', {
    jwt: owner.jwt,
    body: { email, name: role, role, password: PASSWORD },
  });
  assert.equal(created.status, 201, created.text);
  return personOf(await logIn(server, email), email, PASSWORD, '');
}

export function personOf(session: ApiAnswer, email: string, password: string, key: string): Person {
  const cookies = cookiesOf(session);
  return {
    email,
    password,
    companyId: session.body.company_id,
    userId: session.body.user_id,
    key,
    jwt: session.body.token,
    cookies,
    csrf: cookies.svc_csrf_token ?? '',
  };
}
