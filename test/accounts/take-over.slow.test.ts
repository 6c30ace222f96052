import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { findAccountUser } from '@posthorn/core/accounts/account-user.ts';
import { takeOver } from '@posthorn/core/accounts/mailbox/take-over.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { someoneWaits } from '../support/locks.ts';
import { waitFor } from '../support/process.ts';
import type { AccountServer } from './support/account-server.ts';
import { cookiesOf, refused } from './support/api-client.ts';
import { codeIn, linkTokenIn } from './support/mailbox.ts';
import {
  githubAccount,
  googlePerson,
  loginWithGithub,
  loginWithGoogle,
  type OAuthSetup,
  sentTo,
  startOAuth,
} from './support/oauth.ts';
import {
  logIn,
  newCompanyName,
  newEmail,
  newMember,
  newOwner,
  PASSWORD,
  type Person,
  personOf,
  register,
} from './support/people.ts';

const OWN_PASSWORD = 'what only I know, really';

/** The credentials of a person who wrote another's address into an account before its owner came. */
interface Squat {
  password: string | null;
  jwt?: string;
  key?: string;
  cookies?: Record<string, string>;
  /** The code of a move to the squatter's own mailbox, from the mail there. */
  moveCode?: string;
}

describe('an address that its owner never proved', () => {
  let setup: OAuthSetup;
  let server: AccountServer;
  before(async () => {
    setup = await startOAuth();
    ({ server } = setup);
  });
  after(() => setup.close());

  const api: AccountServer['api'] = (...args) => server.api(...args);

  /** Logs in with the squatter's password, makes a key where that is possible, and begins a move to another mailbox. */
  async function dugIn(email: string, password: string, key?: string): Promise<Squat> {
    const { jwt, cookies } = personOf(await logIn(server, email, password), email, password, '');
    const mine = newEmail();
    const start = { new_email: mine, current_password: password };
    assert.equal((await api('POST', '/v1/auth/me/email/start', { jwt, body: start })).status, 202);
    const made = await api('POST', '/v1/tokens', { jwt, body: {} });
    return {
      password,
      jwt,
      cookies,
      key: made.status === 201 ? made.body.token : key!,
      moveCode: codeIn(await server.lastMail(mine)),
    };
  }

  async function quickRegister(email: string): Promise<{ password: string; key: string }> {
    const answer = await api('POST', '/v1/auth/quick-register', { body: { email } });
    assert.equal(answer.status, 201, answer.text);
    return { password: answer.body.password, key: answer.body.api_key };
  }

  const squats: Record<string, (email: string) => Promise<Squat>> = {
    async registered(email) {
      const { body } = await register(server, email);
      return dugIn(email, PASSWORD, body.token);
    },
    async 'quick-registered'(email) {
      const { password, key } = await quickRegister(email);
      return dugIn(email, password, key);
    },
    async 'quick-registered, with the password changed'(email) {
      const { password, key } = await quickRegister(email);
      const first = await logIn(server, email, password);
      const body = { current_password: password, new_password: PASSWORD };
      const changed = await api('PATCH', '/v1/auth/me/password', { jwt: first.body.token, body });
      assert.equal(changed.status, 200, changed.text);
      return dugIn(email, PASSWORD, key);
    },
    async 'made with a password by an owner'(email) {
      const owner = await newOwner(server);
      const body = { email, name: 'Vic', role: 'owner', password: PASSWORD };
      assert.equal((await api('POST', '/v1/users', { jwt: owner.jwt, body })).status, 201);
      return dugIn(email, PASSWORD);
    },
    async invited(email) {
      const owner = await newOwner(server);
      const body = { email, name: 'Vic', role: 'owner' };
      assert.equal((await api('POST', '/v1/users', { jwt: owner.jwt, body })).status, 201);
      return { password: null };
    },
  };

  async function askLink(email: string): Promise<string> {
    await api('POST', '/v1/auth/forgot-password', { body: { email } });
    return linkTokenIn(await server.lastMail(email));
  }
  async function useLink(token: string, email: string): Promise<string> {
    const body = { token, password: OWN_PASSWORD };
    const answer = await api('POST', '/v1/auth/reset-password', { body });
    assert.equal(answer.status, 200, answer.text);
    return (await logIn(server, email, OWN_PASSWORD)).body.token;
  }
  async function session(answer: Awaited<ReturnType<typeof loginWithGoogle>>): Promise<string> {
    sentTo(answer, '/oauth/callback', {});
    const cookies = cookiesOf(answer);
    const refreshed = await api('POST', '/v1/auth/refresh', { cookies, csrf: cookies.svc_csrf_token! });
    assert.equal(refreshed.status, 200, refreshed.text);
    return refreshed.body.token;
  }

  /** Each returns the owner's JWT. */
  const arrivals: Record<string, (email: string) => Promise<string>> = {
    google: async (email) => session(await loginWithGoogle(setup, googlePerson({ email }))),
    github: async (email) =>
      session(
        await loginWithGithub(setup, githubAccount({ emails: [{ email, primary: true, verified: true }] })),
      ),
    'a reset link': async (email) => useLink(await askLink(email), email),
  };

  /** Asserts that no credential of the squatter works. */
  async function isShutOut(email: string, squat: Squat): Promise<void> {
    if (squat.password !== null)
      refused(
        await api('POST', '/v1/auth/login', { body: { email, password: squat.password } }),
        401,
        'INVALID_CREDENTIALS',
      );
    if (squat.jwt) refused(await api('GET', '/v1/instances', { jwt: squat.jwt }), 401, 'PASSWORD_CHANGED');
    if (squat.key) refused(await api('GET', '/v1/instances', { key: squat.key }), 401, 'TOKEN_INVALID');
    if (squat.cookies)
      refused(
        await api('POST', '/v1/auth/refresh', {
          cookies: squat.cookies,
          csrf: squat.cookies.svc_csrf_token!,
        }),
        401,
        'REFRESH_FAILED',
      );
    // The move to the squatter's mailbox is void, also for the user who is logged in now.
    const { rows } = await server.db.query(
      `SELECT 1 FROM email_codes c JOIN users u ON u.id = c.user_id
       WHERE lower(u.email) = $1 AND purpose = 'change' AND code_hash IS NOT NULL`,
      [email],
    );
    assert.equal(rows.length, 0, 'no move to another mailbox is pending');
  }

  for (const [how, squat] of Object.entries(squats))
    for (const [way, arrive] of Object.entries(arrivals))
      test(`${how}: its owner comes by ${way}, and is alone in the account`, async () => {
        const email = newEmail();
        const held = await squat(email);
        const jwt = await arrive(email);
        await isShutOut(email, held);
        assert.equal((await api('GET', '/v1/instances', { jwt })).status, 200);
        const body = { code: held.moveCode ?? '000000' };
        refused(await api('POST', '/v1/auth/me/email/confirm', { jwt, body }), 404, 'EMAIL_CHANGE_NOT_FOUND');
      });

  for (const [how, squat] of Object.entries(squats))
    test(`${how}: once its owner came, another provider is linked and nothing ends again`, async () => {
      const email = newEmail();
      await squat(email);
      const jwt = await arrivals['a reset link']!(email);
      const key = await api('POST', '/v1/tokens', { jwt, body: {} });
      await arrivals.google!(email);
      await arrivals.github!(email);
      await logIn(server, email, OWN_PASSWORD);
      assert.equal((await api('GET', '/v1/instances', { jwt })).status, 200);
      if (key.status === 201)
        assert.equal((await api('GET', '/v1/instances', { key: key.body.token })).status, 200);
    });

  test('invited: the invite link lets its reader in, and links that were asked for before end with it', async () => {
    const email = newEmail();
    await squats.invited!(email);
    const invite = linkTokenIn(await server.lastMail(email));
    const reset = await askLink(email);
    await useLink(invite, email);
    const body = { token: reset, password: PASSWORD };
    refused(await api('POST', '/v1/auth/reset-password', { body }), 400, 'RESET_TOKEN_INVALID');
  });

  test('a sign-up that waits at /oauth/complete while somebody registers the address: the next login takes it', async () => {
    const person = googlePerson();
    const email = person.email!;
    const first = await loginWithGoogle(setup, person);
    const token = sentTo(first, '/oauth/complete', { provider: 'google' }).get('token')!;
    const held = await squats['quick-registered']!(email);
    const body = { token, company_name: newCompanyName() };
    const answer = await api('POST', '/v1/auth/oauth/complete-signup', { body });
    refused(answer, 409, 'EMAIL_ALREADY_REGISTERED');
    await session(await loginWithGoogle(setup, person));
    await isShutOut(email, held);
  });

  test('registered and deleted: its owner signs up by a provider as if nothing had been', async () => {
    const email = newEmail();
    const { password } = await quickRegister(email);
    const squat = (await logIn(server, email, password)).body;
    await server.db.query(`UPDATE companies SET status = 'deleted', deleted_at = now() WHERE id = $1`, [
      squat.company_id,
    ]);
    const answer = await loginWithGoogle(setup, googlePerson({ email }));
    const body = {
      token: sentTo(answer, '/oauth/complete', {}).get('token')!,
      company_name: newCompanyName(),
    };
    const signedUp = await api('POST', '/v1/auth/oauth/complete-signup', { body });
    assert.equal(signedUp.status, 200, signedUp.text);
    assert.notEqual(signedUp.body.company_id, squat.company_id);
    const login = await api('POST', '/v1/auth/login', { body: { email, password } });
    refused(login, 401, 'INVALID_CREDENTIALS');
  });

  test('a move to the address of somebody else gives access neither to the address nor to accounts registered with it', async () => {
    const squatter = await newOwner(server);
    const email = newEmail();
    const start = { new_email: email, current_password: squatter.password };
    await api('POST', '/v1/auth/me/email/start', { jwt: squatter.jwt, body: start });
    const code = codeIn(await server.lastMail(email));
    const answer = await loginWithGoogle(setup, googlePerson({ email }));
    const token = sentTo(answer, '/oauth/complete', {}).get('token')!;
    const signedUp = await api('POST', '/v1/auth/oauth/complete-signup', {
      body: { token, company_name: newCompanyName() },
    });
    assert.equal(signedUp.status, 200, signedUp.text);
    assert.notEqual(signedUp.body.company_id, squatter.companyId);
    const late = await api('POST', '/v1/auth/me/email/confirm', { jwt: squatter.jwt, body: { code } });
    refused(late, 409, 'EMAIL_ALREADY_TAKEN');
  });

  test('an account that moved to a mailbox is proven by the code: a provider is linked and everything stays', async () => {
    const email = newEmail();
    const { password } = await quickRegister(email);
    const { body } = await logIn(server, email, password);
    const next = newEmail();
    const start = { new_email: next, current_password: password };
    await api('POST', '/v1/auth/me/email/start', { jwt: body.token, body: start });
    const code = codeIn(await server.lastMail(next));
    const moved = await api('POST', '/v1/auth/me/email/confirm', { jwt: body.token, body: { code } });
    assert.equal(moved.status, 200, moved.text);
    await arrivals.google!(next);
    await logIn(server, next, password);
    sentTo(await loginWithGoogle(setup, googlePerson({ email })), '/oauth/complete', {});
  });

  test('an honest quick registration proves its mailbox with the code of the mail, and loses nothing', async () => {
    const email = newEmail();
    const { password, key } = await quickRegister(email);
    const code = codeIn(await server.lastMail(email));
    const { body } = await logIn(server, email, password);
    assert.equal(body.email_verified, true);
    const type = (typed: string) =>
      api('POST', '/v1/auth/verify-email', { jwt: body.token, body: { code: typed } });
    refused(await type(code === '000000' ? '000001' : '000000'), 409, 'EMAIL_ALREADY_VERIFIED');
    assert.equal((await type(code)).status, 200);
    refused(await type(code), 409, 'EMAIL_ALREADY_VERIFIED');
    await arrivals.google!(email);
    assert.equal((await api('GET', '/v1/tokens', { key })).status, 200);
    await logIn(server, email, password);
  });

  test('the code of a quick registration can not be guessed: it is void after five wrong ones', async () => {
    const email = newEmail();
    const { password } = await quickRegister(email);
    const code = codeIn(await server.lastMail(email));
    const { body } = await logIn(server, email, password);
    const type = (typed: string) =>
      api('POST', '/v1/auth/verify-email', { jwt: body.token, body: { code: typed } });
    const wrong = code === '000000' ? '000001' : '000000';
    for (let i = 0; i < 5; i++) refused(await type(wrong), 409, 'EMAIL_ALREADY_VERIFIED');
    refused(await type(code), 409, 'EMAIL_ALREADY_VERIFIED');
  });

  test('requests that are under way when its owner comes create nothing afterwards', async () => {
    const email = newEmail();
    const { password, key } = await quickRegister(email);
    const { jwt, userId, companyId } = personOf(await logIn(server, email, password), email, password, key);
    const url = 'https://hooks.example.test/';
    const hook = await api('POST', '/v1/webhooks', { jwt, body: { url, enabled: false } });
    const count = async () => {
      const { rows } = await server.db.query(
        `SELECT (SELECT count(*) FROM api_tokens WHERE company_id = $1 AND revoked_at IS NULL) AS keys,
                (SELECT count(*) FROM users WHERE company_id = $1) AS users,
                (SELECT count(*) FROM webhooks WHERE company_id = $1) AS webhooks,
                (SELECT count(*) FROM webhooks WHERE company_id = $1 AND enabled) AS enabled`,
        [companyId],
      );
      return rows[0];
    };
    const user = { email: newEmail(), name: 'M', role: 'owner', password: PASSWORD };
    const client = await server.db.pool.connect();
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM users WHERE id = $1 FOR UPDATE', [userId]);
    const underWay = [{ jwt }, { key }].flatMap((who) => [
      api('POST', '/v1/tokens', { ...who, body: {} }),
      api('POST', '/v1/users', { ...who, body: user }),
      api('POST', '/v1/webhooks', { ...who, body: { url } }),
      api('PATCH', `/v1/webhooks/${hook.body.id}`, { ...who, body: { enabled: true } }),
    ]);
    await waitFor(() => someoneWaits(server.db, underWay.length), 20_000);
    const known = (await findAccountUser(client, userId))!;
    await takeOver({ clock: server.clock, mails: { queue: async () => null } as never }, client, {
      user: known,
      by: 'google',
      traceId: null,
    });
    await client.query('COMMIT');
    client.release();
    for (const answer of await Promise.all(underWay)) assert.equal(answer.status, 401, answer.text);
    assert.deepEqual(await count(), { keys: 0, users: 1, webhooks: 1, enabled: 0 });
  });

  test('nor do they make or connect an instance, or give it a proxy', async () => {
    const email = newEmail();
    const { password, key } = await quickRegister(email);
    const { jwt, userId, companyId } = personOf(await logIn(server, email, password), email, password, key);
    const made = await api('POST', '/v1/instances', { jwt, body: { name: 'planted' } });
    const proxied = 'socks5://proxy.example.test:1080';
    await server.db.query(
      `UPDATE instances SET driver = 'whatsapp', wanted = 'connected', proxy = 'sealed', proxy_shown = $2 WHERE id = $1`,
      [made.body.id, proxied],
    );
    const client = await server.db.pool.connect();
    try {
      await client.query('BEGIN');
      const user = (await findAccountUser(client, userId, { lock: true }))!;
      const mails = { queue: async () => null } as never;
      await takeOver({ clock: server.clock, mails }, client, { user, by: 'google', traceId: null });
      const underWay = [
        api('POST', '/v1/instances', { jwt, body: { name: 'another' } }),
        api('PATCH', `/v1/instances/${made.body.id}`, { jwt, body: { proxy: proxied } }),
        api('POST', `/v1/instances/${made.body.id}/connect`, { jwt }),
        api('POST', `/v1/instances/${made.body.id}/pairing-code`, { jwt, body: { phone: '5511999990000' } }),
      ];
      await waitFor(() => someoneWaits(server.db, underWay.length), 20_000);
      await client.query('COMMIT');
      const answers = await Promise.all(underWay);
      const { rows } = await client.query(
        'SELECT name, wanted, proxy_shown FROM instances WHERE company_id = $1 ORDER BY name',
        [companyId],
      );
      assert.deepEqual(rows, [{ name: 'planted', wanted: 'disconnected', proxy_shown: null }]);
      for (const answer of answers) refused(answer, 401, 'PASSWORD_CHANGED');
    } finally {
      client.release();
    }
  });

  describe('that registered a company', () => {
    /**
     * Everything that a squatter can create in it: a second owner with a mailbox of their own, a key, hooks, a phone.
     */
    async function plant(email: string) {
      const { password, key } = await quickRegister(email);
      const { body } = await logIn(server, email, password);
      const owner = personOf(await logIn(server, email, password), email, password, key);
      await server.db.query('UPDATE companies SET max_users = 10 WHERE id = $1', [body.company_id]);
      const mole = newEmail();
      await api('POST', '/v1/users', { jwt: owner.jwt, body: { email: mole, name: 'M', role: 'owner' } });
      await useLink(linkTokenIn(await server.lastMail(mole)), mole);
      const second = personOf(await logIn(server, mole, OWN_PASSWORD), mole, OWN_PASSWORD, '');
      second.key = (await api('POST', '/v1/tokens', { jwt: second.jwt, body: {} })).body.token;
      const agent = await newMember(server, owner, 'agent');
      const url = 'https://hooks.example.test/';
      const hook = await api('POST', '/v1/webhooks', { key: second.key, body: { url } });
      assert.equal(hook.status, 201, hook.text);
      const instance = await api('POST', '/v1/instances', { key: second.key, body: { name: 'planted' } });
      await server.db.query(
        `UPDATE instances SET wanted = 'connected', proxy = 'sealed', proxy_shown = 'socks5://proxy.example.test:1080' WHERE id = $1`,
        [instance.body.id],
      );
      const tasks = [newId(), newId()];
      await server.db.query(
        `INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, created_at)
         SELECT unnest($2::uuid[]), company_id, id, shard, 'text', now() FROM instances WHERE id = $1`,
        [instance.body.id, tasks],
      );
      const schedule = async (key: string) => {
        const scheduled = await api('POST', `/v1/instances/${instance.body.id}/messages/scheduled`, {
          key: second.key,
          headers: { 'idempotency-key': key },
          body: {
            type: 'text',
            send_at: new Date(server.clock.now().getTime() + 86_400_000).toISOString(),
            body: { to: '5511999990000', text: 'What is sent in the name of the owner' },
          },
        });
        assert.equal(scheduled.status, 202, scheduled.text);
        return scheduled.body.id;
      };
      await schedule('planted');
      // One that is due, and is tried again until an instance is connected.
      await server.db.query(
        `UPDATE scheduled_sends SET status = 'claimed', send_at = now(), claimed_at = now() WHERE id = $1`,
        [await schedule('due')],
      );
      return { owner, second, agent, hookId: hook.body.id, instanceId: instance.body.id, tasks };
    }

    for (const [way, arrive] of Object.entries(arrivals))
      test(`its owner comes by ${way}: the only user, no active webhook, instance, send or proxy, and everybody gets a mail`, async () => {
        const email = newEmail();
        const planted = await plant(email);
        const jwt = await arrive(email);
        await isShutOut(email, planted.owner);
        for (const person of [planted.second, planted.agent]) await isGone(person);
        const users = await api('GET', '/v1/users', { jwt });
        assert.deepEqual(
          users.body.data.map((user: { email: string; role: string }) => [user.email, user.role]),
          [[email, 'owner']],
        );
        const hook = (await api('GET', `/v1/webhooks/${planted.hookId}`, { jwt })).body;
        assert.deepEqual([hook.enabled, hook.disabled_reason], [false, 'owner_proven']);
        const instance = await server.db.query('SELECT wanted FROM instances WHERE id = $1', [
          planted.instanceId,
        ]);
        assert.equal(instance.rows[0]!.wanted, 'disconnected');
        const scheduled = await api('GET', `/v1/instances/${planted.instanceId}/messages/scheduled`, { jwt });
        assert.deepEqual(
          scheduled.body.data.map((send: { status: string }) => send.status),
          ['cancelled', 'cancelled'],
        );
        const audit = await api('GET', '/v1/audit?action=account.taken_over', { jwt });
        assert.deepEqual(
          { ...audit.body.data[0].detail, by: '' },
          { by: '', keys: 1, users: 2, webhooks: 1, instances: 1, scheduled: 2, queued: 2, proxies: 1 },
        );
        const kept = await server.db.query('SELECT proxy, proxy_shown FROM instances WHERE id = $1', [
          planted.instanceId,
        ]);
        assert.deepEqual(kept.rows, [{ proxy: null, proxy_shown: null }]);
        const asked = await server.db.query<{ op: string; args: { task_ids: string[] } }>(
          'SELECT op, args FROM network_calls WHERE instance_id = $1',
          [planted.instanceId],
        );
        assert.deepEqual(
          asked.rows.map(({ op, args }) => [op, args.task_ids.toSorted()]),
          [['cancel', planted.tasks.toSorted()]],
        );
        const { rows: left } = await server.db.query<{ are: boolean }>(
          `SELECT every(task.seq < i.first_own_seq) AS are FROM outbox task JOIN instances i ON i.id = task.instance_id
           WHERE i.id = $1`,
          [planted.instanceId],
        );
        assert.deepEqual(left, [{ are: true }], 'they never go out, should the request be lost');
        const told = (await server.mailsTo(email)).map((mail) => mail.subject);
        assert.ok(told.includes('Your account is now yours alone'), told.join());
        assert.match((await server.lastMail(planted.second.email)).subject, /access to a company ended/);
      });

    /** The requests that wait for a lock in the database. */
    const areWaiting = (requests: number) =>
      waitFor(async () => {
        const { rowCount } = await server.db.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return rowCount === requests;
      }, 20_000);

    /** Holds the request of a planted owner half-way, until the true owner has come as far as it lets them. */
    async function meet<Made>(email: string, held: { row: string; id: unknown }, ask: () => Promise<Made>) {
      const client = await server.db.pool.connect();
      try {
        await client.query('BEGIN');
        await client.query(`SELECT FROM ${held.row} = $1 FOR UPDATE`, [held.id]);
        const making = ask();
        await areWaiting(1);
        const arriving = arrivals.google!(email);
        await areWaiting(2);
        await client.query('COMMIT');
        return await Promise.all([making, arriving]);
      } finally {
        client.release();
      }
    }

    test('and neither waits for the other when a planted owner makes a user at that moment', async () => {
      const email = newEmail();
      const { second } = await plant(email);
      const user = { email: newEmail(), name: 'M', role: 'owner', password: PASSWORD };
      const held = { row: 'refresh_families WHERE user_id', id: second.userId };
      const [made, jwt] = await meet(email, held, () =>
        api('POST', '/v1/users', { jwt: second.jwt, body: user }),
      );
      assert.equal(made.status, 201, made.text);
      assert.equal((await api('GET', '/v1/users', { jwt })).body.total, 1);
    });

    test('and neither waits for the other when a planted owner deletes an instance at that moment', async () => {
      const email = newEmail();
      const { second, instanceId } = await plant(email);
      const body = { url: 'https://hooks.example.test/', instance_id: instanceId };
      assert.equal((await api('POST', '/v1/webhooks', { key: second.key, body })).status, 201);
      await server.db.query('INSERT INTO instance_pairings (instance_id, company_id) VALUES ($1, $2)', [
        instanceId,
        second.companyId,
      ]);
      const held = { row: 'instance_pairings WHERE instance_id', id: instanceId };
      const [deleted] = await meet(email, held, () =>
        api('DELETE', `/v1/instances/${instanceId}`, { key: second.key }),
      );
      assert.equal(deleted.status, 204, deleted.text);
    });

    async function isGone(person: Person): Promise<void> {
      refused(await api('GET', '/v1/instances', { jwt: person.jwt }), 401, 'TOKEN_INVALID');
      if (person.key) refused(await api('GET', '/v1/instances', { key: person.key }), 401, 'TOKEN_INVALID');
      const login = { email: person.email, password: person.password };
      refused(await api('POST', '/v1/auth/login', { body: login }), 401, 'INVALID_CREDENTIALS');
    }

    test('a company whose owner is proven keeps its users, hooks and keys when another user is', async () => {
      const owner = await newOwner(server);
      const member = await newMember(server, owner, 'owner');
      await arrivals.google!(member.email);
      refused(await api('GET', '/v1/instances', { jwt: member.jwt }), 401, 'PASSWORD_CHANGED');
      assert.equal((await api('GET', '/v1/users', { jwt: owner.jwt })).body.total, 2);
      assert.equal((await api('GET', '/v1/instances', { key: owner.key })).status, 200);
    });
  });
});
