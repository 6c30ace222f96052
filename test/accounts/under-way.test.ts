import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setPassword } from '@posthorn/core/accounts/passwords/set-password.ts';
import type { Sql } from '@posthorn/core/platform/database/db.ts';
import { waitFor } from '../support/process.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { type ApiAnswer, refused } from './support/api-client.ts';
import { newEmail, newMember, newOwner, PASSWORD, type Person } from './support/people.ts';

let server: AccountServer;
before(async () => {
  server = await startAccountServer();
});
after(() => server.close());

const api: AccountServer['api'] = (...request) => server.api(...request);

/** Changes a user while the requests wait for the end of that change, and returns their answers. */
async function during<Asked extends Promise<ApiAnswer>[]>(
  person: Person,
  change: (sql: Sql) => Promise<unknown>,
  ask: () => [...Asked],
): Promise<ApiAnswer[]> {
  const client = await server.db.pool.connect();
  try {
    await client.query('BEGIN');
    await client.query('SELECT FROM users WHERE id = $1 FOR UPDATE', [person.userId]);
    const asked = ask();
    await waitFor(async () => {
      const { rows } = await server.db.query<{ n: number }>(
        `SELECT count(*) AS n FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rows[0]!.n === asked.length;
    }, 20_000);
    await change(client);
    await client.query('COMMIT');
    return await Promise.all(asked);
  } finally {
    client.release();
  }
}

const toAnotherPassword = (person: Person) => async (sql: Sql) => {
  const passwordHash = 'of a password that was set meanwhile';
  await setPassword(sql, { userId: person.userId, passwordHash, keepJti: null, now: server.clock.now() });
};

describe('a login that is under way', () => {
  const underWay = (person: Person) => () => [
    api('POST', '/v1/auth/login', { body: { email: person.email, password: person.password } }),
  ];
  const sessions = async (person: Person) => {
    const { rows } = await server.db.query<{ n: number }>(
      'SELECT count(*) AS n FROM refresh_families WHERE user_id = $1 AND revoked_at IS NULL',
      [person.userId],
    );
    return rows[0]!.n;
  };

  test('begins no session with the old password once another one is set', async () => {
    const person = await newOwner(server);
    const [answer] = await during(person, toAnotherPassword(person), underWay(person));
    refused(answer!, 401, 'INVALID_CREDENTIALS');
    assert.equal(await sessions(person), 0);
  });

  test('begins no session with the old e-mail once it was changed', async () => {
    const person = await newOwner(server);
    const change = (sql: Sql) =>
      sql.query('UPDATE users SET email = $2 WHERE id = $1', [person.userId, newEmail()]);
    const before = await sessions(person);
    const [answer] = await during(person, change, underWay(person));
    refused(answer!, 401, 'INVALID_CREDENTIALS');
    assert.equal(await sessions(person), before);
  });

  test('is refused when its user is removed meanwhile', async () => {
    const person = await newMember(server, await newOwner(server), 'agent');
    const change = (sql: Sql) => sql.query('DELETE FROM users WHERE id = $1', [person.userId]);
    const [answer] = await during(person, change, underWay(person));
    refused(answer!, 401, 'INVALID_CREDENTIALS');
  });

  test('begins its session when another field of the user is changed', async () => {
    const person = await newOwner(server);
    const change = (sql: Sql) => sql.query(`UPDATE users SET name = 'Nina' WHERE id = $1`, [person.userId]);
    const [answer] = await during(person, change, underWay(person));
    assert.deepEqual([answer!.status, answer!.body.name], [200, 'Nina'], answer!.text);
  });
});

test('a change of the e-mail does not begin with the old password once another one is set', async () => {
  const person = await newOwner(server);
  const body = { new_email: newEmail(), current_password: person.password };
  const [answer] = await during(person, toAnotherPassword(person), () => [
    api('POST', '/v1/auth/me/email/start', { jwt: person.jwt, body }),
  ]);
  refused(answer!, 401, 'INVALID_CURRENT_PASSWORD');
  assert.deepEqual(await server.mailsTo(body.new_email), []);
});

describe('a scheduled send', () => {
  const scheduling = (person: Person, instanceId: string) => () => [
    api('POST', `/v1/instances/${instanceId}/messages/scheduled`, {
      jwt: person.jwt,
      headers: { 'idempotency-key': 'under way' },
      body: {
        type: 'text',
        send_at: new Date(server.clock.now().getTime() + 3_600_000).toISOString(),
        body: { to: '5511999990000', text: 'later' },
      },
    }),
  ];
  const newInstance = async (owner: Person): Promise<string> =>
    (await api('POST', '/v1/instances', { jwt: owner.jwt, body: { name: 'first' } })).body.id;

  test('is not stored when the session that schedules it has ended meanwhile', async () => {
    const person = await newOwner(server);
    const instanceId = await newInstance(person);
    const [answer] = await during(person, toAnotherPassword(person), scheduling(person, instanceId));
    refused(answer!, 401, 'PASSWORD_CHANGED');
  });

  test('is stored although its author is made an agent meanwhile: every role may schedule', async () => {
    const founder = await newOwner(server);
    const instanceId = await newInstance(founder);
    const person = await newMember(server, founder, 'owner');
    const change = (sql: Sql) => sql.query(`UPDATE users SET role = 'agent' WHERE id = $1`, [person.userId]);
    const [answer] = await during(person, change, scheduling(person, instanceId));
    assert.equal(answer!.status, 202, answer!.text);
  });
});

describe('an owner who is made an agent meanwhile', () => {
  const demoted = (person: Person) => (sql: Sql) =>
    sql.query(`UPDATE users SET role = 'agent' WHERE id = $1`, [person.userId]);

  test('makes no user, key, webhook or secret any more, and changes and removes none', async () => {
    const founder = await newOwner(server);
    const person = await newMember(server, founder, 'owner');
    const other = await newMember(server, founder, 'agent');
    const key = (await api('POST', '/v1/tokens', { jwt: person.jwt, body: {} })).body.token;
    const url = 'https://hooks.example.test/';
    const hook = (await api('POST', '/v1/webhooks', { jwt: person.jwt, body: { url } })).body.id;
    const user = () => ({ email: newEmail(), name: 'Eve', role: 'owner', password: PASSWORD });
    const answers = await during(person, demoted(person), () =>
      [{ jwt: person.jwt }, { key }].flatMap((who) => [
        api('POST', '/v1/users', { ...who, body: user() }),
        api('PATCH', `/v1/users/${other.userId}`, { ...who, body: { role: 'owner' } }),
        api('DELETE', `/v1/users/${other.userId}`, who),
        api('POST', '/v1/tokens', { ...who, body: {} }),
        api('POST', '/v1/webhooks', { ...who, body: { url } }),
        api('POST', `/v1/webhooks/${hook}/rotate-secret`, who),
      ]),
    );
    for (const answer of answers) refused(answer, 403, 'INSUFFICIENT_PERMISSIONS');
    const { body } = await api('GET', '/v1/users', { jwt: founder.jwt });
    assert.deepEqual(
      body.data.map((each: { id: number; role: string }) => [each.id, each.role]),
      [
        [founder.userId, 'owner'],
        [person.userId, 'agent'],
        [other.userId, 'agent'],
      ],
    );
  });

  test('makes, changes, connects and pairs no instance any more', async () => {
    const founder = await newOwner(server);
    const person = await newMember(server, founder, 'admin');
    const made = await api('POST', '/v1/instances', { jwt: founder.jwt, body: { name: 'first' } });
    const { jwt } = person;
    const answers = await during(person, demoted(person), () => [
      api('POST', '/v1/instances', { jwt, body: { name: 'second' } }),
      api('PATCH', `/v1/instances/${made.body.id}`, { jwt, body: { name: 'theirs' } }),
      api('POST', `/v1/instances/${made.body.id}/connect`, { jwt }),
      api('POST', `/v1/instances/${made.body.id}/pairing-code`, { jwt, body: { phone: '5511999990000' } }),
    ]);
    for (const answer of answers) refused(answer, 403, 'INSUFFICIENT_PERMISSIONS');
    const { body } = await api('GET', '/v1/instances', { jwt: founder.jwt });
    assert.deepEqual(
      body.data.map((instance: { name: string; state: string }) => [instance.name, instance.state]),
      [['first', 'CREATED']],
    );
  });

  test('does make them when the new role allows it', async () => {
    const founder = await newOwner(server);
    const person = await newMember(server, founder, 'admin');
    const promoted = (sql: Sql) =>
      sql.query(`UPDATE users SET role = 'owner' WHERE id = $1`, [person.userId]);
    const [answer] = await during(person, promoted, () => [
      api('POST', '/v1/webhooks', { jwt: person.jwt, body: { url: 'https://hooks.example.test/' } }),
    ]);
    assert.equal(answer!.status, 201, answer!.text);
  });
});
