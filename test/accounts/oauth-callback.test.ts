import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { startAccountServer } from './support/account-server.ts';
import { type ApiAnswer, cookiesOf, refused } from './support/api-client.ts';
import {
  begin,
  comeBack,
  failedWith,
  githubAccount,
  googlePerson,
  loginWithGithub,
  loginWithGoogle,
  type OAuthSetup,
  sentTo,
  startOAuth,
} from './support/oauth.ts';
import { logIn, newCompanyName, newEmail, newOwner, register } from './support/people.ts';

describe('GET /v1/auth/oauth/{provider}/callback', () => {
  let setup: OAuthSetup;
  before(async () => {
    setup = await startOAuth();
  });
  after(() => setup.close());

  /** The session behind the cookies of a callback. */
  const sessionOf = async (answer: ApiAnswer) => {
    const cookies = cookiesOf(answer);
    const session = await setup.server.api('POST', '/v1/auth/refresh', {
      cookies,
      csrf: cookies.svc_csrf_token!,
    });
    assert.equal(session.status, 200, session.text);
    return session.body;
  };
  const complete = (token: string) =>
    setup.server.api('POST', '/v1/auth/oauth/complete-signup', {
      body: { token, company_name: newCompanyName() },
    });

  test('new e-mail: a pending token, no session; once signed up, the identity is known and gets its session', async () => {
    const person = googlePerson();
    const first = await loginWithGoogle(setup, person);
    const rest = sentTo(first, '/oauth/complete', { provider: 'google' });
    assert.deepEqual(cookiesOf(first), {});
    const signedUp = await complete(rest.get('token')!);
    assert.equal(signedUp.status, 200, signedUp.text);
    // The provider knows the person by their id, even when the e-mail changes.
    const second = await loginWithGoogle(setup, person);
    sentTo(second, '/oauth/callback', { provider: 'google' });
    const session = await sessionOf(second);
    assert.equal(session.email, person.email);
    assert.equal(session.company_id, signedUp.body.company_id);
    assert.equal(session.email_verified, true);
  });

  test('github: the same steps, by the primary verified address', async () => {
    const account = githubAccount();
    account.emails.unshift({ email: 'other@example.test', primary: false, verified: true });
    const first = await loginWithGithub(setup, account);
    const token = sentTo(first, '/oauth/complete', { provider: 'github' }).get('token')!;
    const signedUp = await complete(token);
    assert.equal(signedUp.body.email, `${account.id}@example.test`);
    assert.equal(signedUp.body.name, 'Hugo');
    const second = await loginWithGithub(setup, {
      ...account,
      emails: [{ email: 'new@example.test', primary: true, verified: true }],
    });
    sentTo(second, '/oauth/callback', { provider: 'github' });
    assert.equal((await sessionOf(second)).user_id, signedUp.body.user_id);
  });

  test('a verified e-mail that is registered: the provider is linked and the password stays', async () => {
    const owner = await newOwner(setup.server);
    const answer = await loginWithGoogle(setup, googlePerson({ email: owner.email.toUpperCase() }));
    sentTo(answer, '/oauth/callback', { provider: 'google' });
    assert.equal((await sessionOf(answer)).user_id, owner.userId);
    await logIn(setup.server, owner.email);
    assert.equal((await setup.server.api('GET', '/v1/tokens', { key: owner.key })).status, 200);
    const again = await loginWithGithub(
      setup,
      githubAccount({ emails: [{ email: owner.email, primary: true, verified: true }] }),
    );
    assert.equal((await sessionOf(again)).user_id, owner.userId, 'two providers, one user');
  });

  test('an e-mail that was registered and never verified: a user who proves it takes the account over', async () => {
    const squatter = await newOwner(setup.server, { verified: false });
    assert.equal((await setup.server.api('GET', '/v1/instances', { jwt: squatter.jwt })).status, 200);
    const answer = await loginWithGoogle(setup, googlePerson({ email: squatter.email }));
    sentTo(answer, '/oauth/callback', { provider: 'google' });
    const session = await sessionOf(answer);
    assert.equal(session.user_id, squatter.userId);
    assert.equal(session.email_verified, true);
    const { api } = setup.server;
    refused(await api('GET', '/v1/instances', { jwt: squatter.jwt }), 401, 'PASSWORD_CHANGED');
    refused(await api('GET', '/v1/instances', { key: squatter.key }), 401, 'TOKEN_INVALID');
    const login = { email: squatter.email, password: squatter.password };
    refused(await api('POST', '/v1/auth/login', { body: login }), 401, 'INVALID_CREDENTIALS');
    refused(
      await api('POST', '/v1/auth/refresh', { cookies: squatter.cookies, csrf: squatter.csrf }),
      401,
      'REFRESH_FAILED',
    );
    assert.equal((await api('GET', '/v1/instances', { jwt: session.token })).status, 200);
  });

  test('an invited user may come in by a provider in place of the link', async () => {
    const owner = await newOwner(setup.server);
    const person = googlePerson();
    const body = { email: person.email, name: 'Ana', role: 'admin' };
    await setup.server.api('POST', '/v1/users', { jwt: owner.jwt, body });
    const session = await sessionOf(await loginWithGoogle(setup, person));
    assert.equal(session.company_id, owner.companyId);
    assert.equal(session.role, 'admin');
  });

  test('whose invitation has expired signs up for a company of their own', async () => {
    const owner = await newOwner(setup.server);
    const person = googlePerson();
    const body = { email: person.email, name: 'Ana', role: 'admin' };
    const user = await setup.server.api('POST', '/v1/users', { jwt: owner.jwt, body });
    await setup.server.db.query('UPDATE password_links SET expires_at = created_at WHERE user_id = $1', [
      user.body.id,
    ]);
    sentTo(await loginWithGoogle(setup, person), '/oauth/complete', { provider: 'google' });
  });

  test('OAUTH_EMAIL_UNVERIFIED: an address that is another one in lower case', async () => {
    const email = `kim-${newEmail()}`;
    await register(setup.server, email);
    const looksAlike = email.replace('k', '\u212a');
    failedWith(await loginWithGoogle(setup, googlePerson({ email: looksAlike })), 'OAUTH_EMAIL_UNVERIFIED');
    const emails = [{ email: looksAlike, primary: true, verified: true }];
    failedWith(await loginWithGithub(setup, githubAccount({ emails })), 'OAUTH_EMAIL_UNVERIFIED', 'github');
  });

  test('OAUTH_EMAIL_UNVERIFIED: the provider has not verified it, or names none', async () => {
    failedWith(
      await loginWithGoogle(setup, googlePerson({ email_verified: false })),
      'OAUTH_EMAIL_UNVERIFIED',
    );
    failedWith(await loginWithGoogle(setup, { sub: 'nobody' }), 'OAUTH_EMAIL_UNVERIFIED');
    const unverified = githubAccount({
      emails: [{ email: 'x@example.test', primary: true, verified: false }],
    });
    failedWith(await loginWithGithub(setup, unverified), 'OAUTH_EMAIL_UNVERIFIED', 'github');
    failedWith(
      await loginWithGithub(setup, githubAccount({ emails: [] })),
      'OAUTH_EMAIL_UNVERIFIED',
      'github',
    );
  });

  test('OAUTH_UPSTREAM_FAILED: the person refused, the provider failed, or the code is invalid', async () => {
    const { github } = setup;
    let begun = await begin(setup, 'github');
    failedWith(
      await comeBack(setup, github.deny(begun.url), begun.cookies),
      'OAUTH_UPSTREAM_FAILED',
      'github',
    );
    begun = await begin(setup, 'github');
    const back = github.authorize(begun.url, githubAccount());
    github.failWith(500);
    failedWith(await comeBack(setup, back, begun.cookies), 'OAUTH_UPSTREAM_FAILED', 'github');
    github.failWith(null);
    for (const provider of ['google', 'github'] as const) {
      const { url, cookies } = await begin(setup, provider);
      const state = new URL(url).searchParams.get('state')!;
      const forged = new URL(`http://x/v1/auth/oauth/${provider}/callback?code=forged&state=${state}`);
      failedWith(await comeBack(setup, forged, cookies), 'OAUTH_UPSTREAM_FAILED', provider);
    }
  });

  test('OAUTH_PROVIDER_INVALID and OAUTH_PROVIDER_DISABLED', async () => {
    failedWith(
      await setup.server.api('GET', '/v1/auth/oauth/myspace/callback?state=x&code=y'),
      'OAUTH_PROVIDER_INVALID',
      'myspace',
    );
    const off = await startAccountServer({ FRONTEND_URL: 'https://console.example.test' });
    try {
      const answer = await off.api('GET', '/v1/auth/oauth/google/callback?state=x&code=y');
      failedWith(answer, 'OAUTH_PROVIDER_DISABLED');
    } finally {
      await off.close();
    }
  });

  test('a deleted and a suspended company get no session', async () => {
    for (const [status, code] of [
      ['deleted', 'ACCOUNT_DELETED'],
      ['suspended', 'COMPANY_SUSPENDED'],
    ] as const) {
      const owner = await newOwner(setup.server);
      await setup.server.db.query('UPDATE companies SET status = $2 WHERE id = $1', [
        owner.companyId,
        status,
      ]);
      failedWith(await loginWithGoogle(setup, googlePerson({ email: owner.email })), code);
    }
  });

  test('OAUTH_STATE_INVALID: missing, unknown, used, late, of another browser or of another provider', async () => {
    const path = '/v1/auth/oauth/google/callback';
    failedWith(await setup.server.api('GET', `${path}?code=x`), 'OAUTH_STATE_INVALID');
    const { cookies } = await begin(setup, 'google');
    failedWith(await setup.server.api('GET', `${path}?code=x&state=y`, { cookies }), 'OAUTH_STATE_INVALID');

    const used = await begin(setup, 'google');
    const back = await setup.openid.authorize(used.url, googlePerson());
    sentTo(await comeBack(setup, back, used.cookies), '/oauth/complete', { provider: 'google' });
    failedWith(await comeBack(setup, back, used.cookies), 'OAUTH_STATE_INVALID');

    const stolen = await begin(setup, 'google');
    const victim = await begin(setup, 'google');
    const theirs = await setup.openid.authorize(stolen.url, googlePerson());
    failedWith(await comeBack(setup, theirs, {}), 'OAUTH_STATE_INVALID');
    failedWith(await comeBack(setup, theirs, victim.cookies), 'OAUTH_STATE_INVALID');
    const other = new URL(theirs.href.replace('/google/', '/github/'));
    failedWith(await comeBack(setup, other, stolen.cookies), 'OAUTH_STATE_INVALID', 'github');

    const late = await begin(setup, 'google');
    const tooLate = await setup.openid.authorize(late.url, googlePerson());
    setup.server.clock.advance(10 * 60_000);
    failedWith(await comeBack(setup, tooLate, late.cookies), 'OAUTH_STATE_INVALID');
  });

  test('PKCE: a code of another login does not fit, at google nor at github', async () => {
    const mine = await begin(setup, 'google');
    const theirs = await begin(setup, 'google');
    const code = (await setup.openid.authorize(theirs.url, googlePerson())).searchParams.get('code')!;
    const back = await setup.openid.authorize(mine.url, googlePerson());
    back.searchParams.set('code', code);
    failedWith(await comeBack(setup, back, mine.cookies), 'OAUTH_UPSTREAM_FAILED');

    const [one, two] = [await begin(setup, 'github'), await begin(setup, 'github')];
    const injected = setup.github.authorize(one.url, githubAccount());
    const victim = setup.github.authorize(two.url, githubAccount());
    victim.searchParams.set('code', injected.searchParams.get('code')!);
    failedWith(await comeBack(setup, victim, two.cookies), 'OAUTH_UPSTREAM_FAILED', 'github');
  });

  test('nonce: an ID token that was made for another question is refused', async () => {
    const begun = await begin(setup, 'google');
    const asked = new URL(begun.url);
    asked.searchParams.set('nonce', 'another-nonce');
    const back = await setup.openid.authorize(asked.href, googlePerson());
    failedWith(await comeBack(setup, back, begun.cookies), 'OAUTH_UPSTREAM_FAILED');
  });

  test('two tabs of one browser can both finish', async () => {
    const first = await begin(setup, 'google');
    const answer = await setup.server.api('GET', '/v1/auth/oauth/google/start', { cookies: first.cookies });
    const second = { url: answer.headers.get('location')!, cookies: cookiesOf(answer) };
    for (const tab of [first, second]) {
      const back = await setup.openid.authorize(tab.url, googlePerson());
      sentTo(await comeBack(setup, back, second.cookies), '/oauth/complete', { provider: 'google' });
    }
  });

  test('two tabs that come back at the same moment both log in, and the identity is linked once', async () => {
    const owner = await newOwner(setup.server);
    const person = googlePerson({ email: owner.email });
    const client = await setup.server.db.pool.connect();
    await client.query('BEGIN');
    await client.query('SELECT FROM users WHERE id = $1 FOR UPDATE', [owner.userId]);
    const tabs: Promise<ApiAnswer>[] = [];
    for (let tab = 0; tab < 2; tab += 1) {
      const begun = await begin(setup, 'google');
      tabs.push(comeBack(setup, await setup.openid.authorize(begun.url, person), begun.cookies));
    }
    await waitFor(async () => {
      const { rowCount } = await setup.server.db.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rowCount === tabs.length;
    });
    await client.query('COMMIT');
    client.release();
    for (const answer of await Promise.all(tabs)) {
      sentTo(answer, '/oauth/callback', { provider: 'google' });
      assert.equal((await sessionOf(answer)).user_id, owner.userId);
    }
    const { rowCount } = await setup.server.db.query('SELECT FROM oauth_identities WHERE user_id = $1', [
      owner.userId,
    ]);
    assert.equal(rowCount, 1);
  });

  test('a provider that gives the e-mail only on request works as well', async () => {
    const other = await startOAuth({ claimsByUserinfo: true });
    try {
      const person = googlePerson();
      const answer = await loginWithGoogle(other, person);
      const token = sentTo(answer, '/oauth/complete', { provider: 'google' }).get('token')!;
      const signedUp = await other.server.api('POST', '/v1/auth/oauth/complete-signup', {
        body: { token, company_name: newCompanyName() },
      });
      assert.equal(signedUp.body.email, person.email);
    } finally {
      await other.close();
    }
  });

  test('google, while the clock of this machine is wrong by hours', async (t) => {
    for (const aheadMs of [3 * 3600_000, -3 * 3600_000]) {
      // As they differ when it is this machine that is wrong.
      const other = await startOAuth({ timeOffMs: -aheadMs });
      t.after(() => other.close());
      other.server.clock.ownAheadMs = () => aheadMs;
      sentTo(await loginWithGoogle(other, googlePerson()), '/oauth/complete', { provider: 'google' });
    }
  });
});
