/** Several tabs of a browser, which share one session. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { type Company, clientOf, makeCompany } from './support/company.ts';
import { enterConsole, PASSWORD, signIn } from './support/person.ts';
import { useConsole } from './support/use-console.ts';

const TO = '5511987650061';
const NEW_PASSWORD = 'another horse battery';

const started = useConsole();
let company: Company;

/** A tab with a form that is half written. */
async function beginToWrite(email = company.email): Promise<Page> {
  const page = await enterConsole(started, { next: `/messages/new?instance=${company.instanceId}`, email });
  await page.getByRole('textbox', { name: 'To' }).fill(TO);
  await page.getByRole('textbox', { name: 'Text', exact: true }).fill('Half a');
  return page;
}

/** Writes on and sends; returns what has arrived at the service. */
async function writeOn(page: Page, password = PASSWORD): Promise<unknown> {
  const field = page.getByRole('textbox', { name: 'Text', exact: true });
  await field.press('End');
  await field.pressSequentially(' thought');
  await page.getByRole('button', { name: 'Send a text' }).click();
  await page.getByRole('link', { name: 'Open the message' }).waitFor();
  const { client } = await clientOf(started.server, company.email, password);
  const { data } = await client.messages.list({ instanceId: company.instanceId });
  return data[0]?.content.text;
}

/** Resolves when a tab has heard of a sign-in in another one, and has done what it does then. */
async function hearSignIn(page: Page): Promise<() => Promise<unknown>> {
  await page.evaluate(`
    globalThis.hears = new Promise((resolve) => {
      new BroadcastChannel('posthorn-session').onmessage = () => setTimeout(resolve, 100);
    });
    undefined`);
  return () => page.evaluate('hears');
}

describe('a tab', () => {
  before(async () => {
    company = await makeCompany(started.server);
  });

  test('keeps a half-written form while the user signs in again in another one', async () => {
    const page = await beginToWrite();
    const heard = await hearSignIn(page);
    await page.context().clearCookies();
    const other = await page.context().newPage();
    await other.goto(`${started.server.url}/console/login`);
    await signIn(other, company.email, PASSWORD);
    await other.getByText('Messages of the last 24 hours').first().waitFor();
    await heard();
    assert.equal(await writeOn(page), 'Half a thought');
    await page.context().close();
  });

  test('whose session has ended continues its form once the user signs in in another one', async () => {
    const page = await beginToWrite();
    const other = await page.context().newPage();
    await other.goto(`${started.server.url}/console/webhooks`);
    await other.getByText('A webhook sends events to your server.').waitFor();
    const body = { current_password: PASSWORD, new_password: NEW_PASSWORD };
    await company.client.auth.changePassword({ body });
    for (const tab of [page, other])
      await tab.getByText('Your session has ended. Sign in to go on.').waitFor();
    await signIn(other, company.email, NEW_PASSWORD);
    assert.equal(await writeOn(page, NEW_PASSWORD), 'Half a thought');
    await page.context().close();
  });

  test('whose session has ended shows the address of a file again that was typed into its form', async () => {
    const mine = await makeCompany(started.server);
    const next = `/messages/new?instance=${mine.instanceId}&kind=image`;
    const page = await enterConsole(started, { next, email: mine.email });
    await page.getByText('An address', { exact: true }).click();
    const address = page.getByRole('textbox', { name: 'Media url' });
    await address.fill('https://files.example.test/bread.png');
    const body = { current_password: PASSWORD, new_password: NEW_PASSWORD };
    await mine.client.auth.changePassword({ body });
    await page.getByText('Your session has ended. Sign in to go on.').waitFor();
    await signIn(page, mine.email, NEW_PASSWORD);
    await page.getByLabel('What to send').waitFor();
    assert.equal(await address.inputValue(), 'https://files.example.test/bread.png');
    await page.context().close();
  });

  test('becomes that of another user who signs in with Google or GitHub in another one', async () => {
    const { server } = started;
    const mine = await makeCompany(server);
    const page = await enterConsole(started, { next: '/settings', email: mine.email });
    await page.getByRole('button', { name: /Ana Souza/ }).waitFor();
    const email = `oauth-${Date.now()}@example.com`;
    await mine.client.users.create({ body: { email, name: 'Caio Lima', role: 'agent', password: PASSWORD } });
    // The service has set the cookies before the last page of such a sign-in.
    await page.context().request.post(`${server.url}/v1/auth/login`, { data: { email, password: PASSWORD } });
    const other = await page.context().newPage();
    await other.goto(`${server.url}/console/oauth/callback`);
    await other.getByRole('button', { name: /Caio Lima/ }).waitFor();
    await page.getByRole('button', { name: /Caio Lima/ }).waitFor();
    await page.context().close();
  });
});
