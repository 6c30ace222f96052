import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createClient, createSession } from '@posthorn/sdk/index.ts';
import { findBarriers, findTokens } from './support/browser.ts';
import { PASSWORD, signIn, signUp } from './support/person.ts';
import { useConsole } from './support/use-console.ts';

const NEW_PASSWORD = 'another horse battery';

const started = useConsole();

async function linkTo(address: string, page: string): Promise<string> {
  const { server } = started;
  const pattern = new RegExp(`${server.url}/console/${page}\\S*`);
  const link = pattern.exec((await server.mailTo(address, pattern)).text)?.[0];
  assert.ok(link);
  return link;
}

describe('the links of mails', () => {
  test('a reset sets another password, and leaves no token in the address', async () => {
    const { server, browser } = started;
    const { page, faults } = await browser.visit();
    const email = await signUp(server, page);
    await page.goto(`${server.url}/console/forgot-password`);
    await page.getByLabel('E-mail').fill(email);
    await page.getByRole('button', { name: 'Send the link' }).click();
    await page.getByText('the link is on its way').waitFor();
    assert.deepEqual(await findBarriers(page), []);

    await page.goto(await linkTo(email, 'reset-password\\?token='));
    await page.getByLabel(/^New password/).fill(NEW_PASSWORD);
    assert.deepEqual(await findTokens(page), []);
    assert.deepEqual(await findBarriers(page), []);
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByText('The password is set.').waitFor();
    await signIn(page, email, PASSWORD);
    await page.getByText('E-mail or password is wrong.').waitFor();
    await signIn(page, email, NEW_PASSWORD);
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    assert.deepEqual(faults, []);
  });

  test('an enabled social login is a way in, and another is not offered', async () => {
    const { server, browser } = started;
    const { page } = await browser.visit();
    await page.goto(`${server.url}/console/sign-up`);
    const signUpLink = page.getByRole('link', { name: 'Sign up with GitHub' });
    assert.match((await signUpLink.getAttribute('href'))!, /github\/start\?mode=signup$/);
    await page.goto(`${server.url}/console/login`);
    const link = page.getByRole('link', { name: 'Sign in with GitHub' });
    await link.waitFor();
    assert.equal(await page.getByText('Google').count(), 0);
    assert.deepEqual(await findBarriers(page), []);
    const asked = page.waitForRequest(/:9\/login\/oauth\/authorize\?/);
    await link.click({ noWaitAfter: true });
    assert.equal(new URL((await asked).url()).searchParams.get('client_id'), 'console');
  });

  test('an enabled social login is a way in also behind a path', async () => {
    const { server, browser } = started;
    const { page } = await browser.visit();
    // As a proxy does that passes on what is below the path, and as the service does that knows of it.
    await page.route(`${server.url}/posthorn/**`, async (route) => {
      const response = await route.fetch({ url: route.request().url().replace('/posthorn/', '/') });
      const isPage = response.headers()['content-type']?.startsWith('text/html');
      const body = (await response.body())
        .toString()
        .replace('href="/console/"', 'href="/posthorn/console/"');
      await route.fulfill(isPage ? { response, body } : { response });
    });
    await page.goto(`${server.url}/posthorn/console/login`);
    const link = page.getByRole('link', { name: 'Sign in with GitHub' });
    const start = `${server.url}/posthorn/v1/auth/oauth/github/start?mode=login`;
    assert.equal(new URL((await link.getAttribute('href')) ?? '', page.url()).href, start);
  });

  test('a sign-up that began elsewhere ends here, and leaves no token in the address', async () => {
    const { server, browser } = started;
    const { page, faults } = await browser.visit();
    await page.goto(`${server.url}/console/oauth/complete?token=expired`);
    await page.getByLabel('Company').fill('Padaria Sol');
    assert.deepEqual(await findTokens(page), []);
    await page.getByRole('button', { name: 'Create the account' }).click();
    await page.getByText('This sign-up has expired.').waitFor();
    assert.deepEqual(await findBarriers(page), []);
    assert.deepEqual(faults, []);
  });

  test('an invitation makes an agent, who sees the messages alone', async () => {
    const { server, browser } = started;
    const owner = await browser.visit();
    const email = await signUp(server, owner.page);
    const session = createSession({ baseUrl: server.url });
    await session.login({ email, password: PASSWORD });
    const agent = `agent-${Date.now()}@example.com`;
    const client = createClient({ baseUrl: server.url, session });
    const { id } = await client.users.create({ body: { email: agent, name: 'Bia', role: 'agent' } });

    const { page, context } = await browser.visit(undefined, 'pt-BR');
    await page.goto(await linkTo(agent, 'invite\\?token='));
    await page.getByLabel(/^Nova senha/).fill(NEW_PASSWORD);
    assert.deepEqual(await findBarriers(page), []);
    await page.getByRole('button', { name: 'Participar' }).click();
    await page.getByLabel('E-mail').fill(agent);
    await page.getByLabel(/^Senha/).fill(NEW_PASSWORD);
    await page.getByRole('button', { name: 'Entrar' }).click();
    await page.getByRole('heading', { name: 'Conversas' }).waitFor();
    const entries = page.getByRole('navigation').filter({ visible: true }).getByRole('link');
    assert.deepEqual(await entries.allInnerTexts(), ['Conversas', 'Mensagens', 'Eventos', 'Configurações']);
    await page.goto(`${server.url}/console/webhooks`);
    await page.getByRole('heading', { name: 'Mensagens' }).waitFor();
    assert.deepEqual(await findBarriers(page), []);

    // Another role takes effect once the token is renewed, here because it is refused.
    await client.users.update({ id, body: { role: 'admin' } });
    const refused = { status: 401, json: { error_code: 'TOKEN_EXPIRED', message: 'the token has expired' } };
    // Every request with it is refused, as with one that has expired: a renewal may fail for the moment, and is tried again.
    let expired: string | undefined;
    await context.route('**/v1/**', (route) => {
      const { authorization } = route.request().headers();
      expired ??= authorization;
      return authorization && authorization === expired ? route.fulfill(refused) : route.continue();
    });
    await entries.getByText('Eventos').click();
    await entries.getByText('Webhooks').waitFor();
  });
});
