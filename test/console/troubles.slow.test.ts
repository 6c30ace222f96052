/** The service restarts or ends the session, or a proxy in front of it answers 503 and 429, while a page is open. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { LAN_HOST, type TestBrowser } from './support/browser.ts';
import type { Company } from './support/company.ts';
import type { ConsoleServer } from './support/console-server.ts';
import { PASSWORD, signIn } from './support/person.ts';
import type { FrontProxy } from './support/proxy.ts';
import { isAccepted, isOver, SENDS, send, startWriting, TO, type Writing } from './writing.ts';

const NEW_PASSWORD = 'another horse battery';
const UNREACHABLE = 'The service cannot be reached. The page goes on by itself when it is back.';
const UNAVAILABLE =
  'The service is not available for the moment. The page goes on by itself when it is back.';

let writing: Writing;
let server: ConsoleServer;
let proxy: FrontProxy;
let browser: TestBrowser;
let company: Company;
before(async () => {
  writing = await startWriting();
  ({ server, proxy, browser, company } = writing);
});
after(() => writing?.close());

describe('an open page', () => {
  test('survives a restart: it says so, recovers by itself, and a form sends its content once', async () => {
    const { page, keys } = await writing.beginToWrite('over a restart');
    const list = await page.context().newPage();
    await list.goto(`${proxy.url}/console/messages?instance=${company.instanceId}`);
    await list.getByText('Live', { exact: true }).waitFor();
    await server.stop();
    for (const tab of [page, list]) await tab.getByText('Reconnecting', { exact: true }).waitFor();
    await page.getByText(UNREACHABLE).waitFor();
    await send(page);
    await page.getByText('the message cannot be sent twice').waitFor();
    // A page whose code was not loaded before.
    await list.getByRole('link', { name: 'Webhooks' }).click();
    await server.restart();
    await list.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
    await list.getByText('A webhook sends events to your server.').waitFor();
    for (const tab of [page, list]) await tab.getByText('Live', { exact: true }).waitFor();
    await isOver(page, UNREACHABLE);
    await list.getByRole('link', { name: 'Messages' }).click();
    await send(page);
    await isAccepted(page);
    await list.locator('tbody tr', { hasText: 'over a restart' }).waitFor();
    assert.equal(new Set(keys).size, 1);
    assert.ok(keys.length > 1);
    assert.equal(await writing.sentWith('over a restart'), 1);
    await page.context().close();
  });

  test('behind a proxy that answers 503 says so, and shows its data as soon as it can', async () => {
    const { page, keys } = await writing.beginToWrite('over a 503');
    proxy.answer(503);
    await send(page);
    await page.getByText('the message cannot be sent twice').waitFor();
    await page.getByText(UNAVAILABLE).waitFor();
    const other = await page.context().newPage();
    proxy.answer(null);
    await other.goto(`${proxy.url}/console/messages?instance=${company.instanceId}`);
    await other.getByText('Live', { exact: true }).waitFor();
    proxy.answer(503);
    await other.getByRole('link', { name: 'Webhooks' }).click();
    await other.getByText(UNAVAILABLE).waitFor();
    proxy.answer(null);
    await other.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
    await isOver(other, UNAVAILABLE);
    await other.getByRole('alert').waitFor({ state: 'detached' });
    await send(page);
    await isAccepted(page);
    assert.equal(new Set(keys).size, 1);
    assert.equal(await writing.sentWith('over a 503'), 1);
    await page.context().close();
  });

  test('does not call the service unavailable for a file that cannot be fetched', async () => {
    const { page } = await writing.beginToWrite('with a file from elsewhere');
    await page.getByLabel('What to send').selectOption('Send an image');
    await page.getByText('An address', { exact: true }).click();
    await page.getByRole('textbox', { name: 'Media url' }).fill('https://nowhere.example.test/bread.png');
    await page.evaluate(`
      globalThis.hasTold = false;
      new MutationObserver(() => {
        globalThis.hasTold ||= document.body.innerText.includes(${JSON.stringify(UNAVAILABLE)});
      }).observe(document.body, { subtree: true, childList: true })`);
    await page.getByRole('button', { name: 'Send an image' }).click();
    await page.getByText('MEDIA_FETCH_FAILED').waitFor();
    assert.equal(await page.evaluate('hasTold'), false);
    await page.context().close();
  });

  test('in a browser that calls itself offline keeps using a service that it reaches, and signs out', async () => {
    const { page } = await writing.beginToWrite('while offline');
    await page.evaluate(`dispatchEvent(new Event('offline'))`);
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByText('A webhook sends events to your server.').waitFor();
    await page.getByRole('button', { name: /Open the menu/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out in all tabs' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.context().close();
  });

  test('under plain http in a local network stays live in each visible tab, and can copy texts', async () => {
    const { page, context } = await browser.visit();
    const url = server.url.replace('127.0.0.1', LAN_HOST);
    await page.goto(`${url}/console/login?next=/instances/${company.instanceId}`);
    await signIn(page, company.email, PASSWORD);
    await page.getByText('Live', { exact: true }).waitFor();
    assert.equal(await page.evaluate('isSecureContext'), false);
    // It says so for two seconds.
    await Promise.all([
      page.getByRole('button', { name: 'Copied' }).waitFor(),
      page.getByRole('button', { name: 'Copy', exact: true }).click(),
    ]);
    const other = await context.newPage();
    await other.goto(`${url}/console/messages/new?instance=${company.instanceId}`);
    await other.getByText('Live', { exact: true }).waitFor();
    const text = other.getByRole('textbox', { name: 'Text', exact: true });
    await text.focus();
    await other.keyboard.press('Control+V');
    assert.equal(await text.inputValue(), company.instanceId);
    await context.close();
  });

  test('keeps a written text and its key when the session ends, and has them after the next sign-in', async () => {
    const { page, keys } = await writing.beginToWrite('over a session');
    proxy.lose(SENDS);
    await send(page);
    await page.getByText('the message cannot be sent twice').waitFor();
    proxy.lose(null);
    const body = { current_password: PASSWORD, new_password: NEW_PASSWORD };
    await company.client.auth.changePassword({ body });
    await send(page);
    await page.getByText('Your session has ended. Sign in to go on.').waitFor();
    await signIn(page, company.email, NEW_PASSWORD);
    const text = page.getByRole('textbox', { name: 'Text', exact: true });
    await text.waitFor();
    assert.equal(await text.inputValue(), 'over a session');
    assert.equal(await page.getByRole('textbox', { name: 'To' }).inputValue(), TO);
    await send(page);
    await isAccepted(page);
    assert.equal(new Set(keys).size, 1);
    assert.equal(await writing.sentWith('over a session', NEW_PASSWORD), 1);
    await page.context().close();
  });
});
