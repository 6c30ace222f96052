import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { CPF } from '../billing/billing-harness.ts';
import { DESKTOP, findBarriers, findTokens, measureOverflow, PHONE } from './support/browser.ts';
import { clientOf } from './support/company.ts';
import { startEndpoint } from './support/endpoint.ts';
import { open, PASSWORD, pairInstance, signIn, signUp } from './support/person.ts';
import { useConsole } from './support/use-console.ts';

/** Shown literally: markup, and a character that reverses the text after it. */
const HOSTILE = 'Hello <img src=x onerror=alert(1)> \u202eolleh';
const BROKEN = '<script>alert("webhook")</script>';
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const MAY_SEE = ['Chats', 'Messages', 'Events', 'Settings'];
const MAY_NOT_SEE = ['instances', 'instances/new', 'webhooks', 'webhooks/new', 'billing', 'admin'];

/** Pages that other tests check: the form to send, billing and settings. */
const JUDGED_ELSEWHERE = /\/(messages\/new|billing|settings)\b/;

const started = useConsole();

// In parallel: most of a story is waiting for the service.
describe('the story of a company', { concurrency: true }, () => {
  for (const [name, size] of Object.entries({ DESKTOP, PHONE })) {
    // long: one story, whose steps need those before them
    test(`at the width of a ${name.toLowerCase()}: from the sign-up to an agent who answers`, async (t) => {
      const { server, browser } = started;
      const owner = await browser.visit(size);
      const { page, faults, context } = owner;
      const barriers: string[] = [];
      // axe finds the same at both widths, but for the entries; some pages have a test of their own that calls it.
      const judge = async () => barriers.push(...(await findBarriers(page)));
      const look = async (at: Page = page) => {
        if (at === page && size === DESKTOP && !JUDGED_ELSEWHERE.test(page.url())) await judge();
        assert.deepEqual(await findTokens(at), [], at.url());
        assert.equal(await measureOverflow(at), 0, `${at.url()} is wider than the screen`);
      };
      await page.goto(`${server.url}/`);
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      await look();
      const email = await signUp(server, page);
      await look();
      if (size === PHONE) await judge();
      const phone = await pairInstance(server, page, HOSTILE.slice(0, 40));
      await look();
      await page.getByRole('tab', { name: 'Settings' }).click();
      await page.getByRole('switch', { name: 'Type before sending' }).click();
      await page.getByText('Saved.').waitFor();
      await look();

      const endpoint = await startEndpoint(BROKEN);
      t.after(() => endpoint.close());
      await open(page, 'Webhooks');
      await page.getByRole('link', { name: 'New webhook' }).click();
      await page.getByLabel('Address').fill(endpoint.url);
      await look();
      await page.getByRole('button', { name: 'Create the webhook' }).click();
      await page.getByText(/^whsec_/).waitFor();
      await page.getByRole('link', { name: 'I have kept it' }).click();
      await page.getByRole('button', { name: 'Send a test' }).waitFor();

      const customer = `5521${phone.slice(4)}`;
      await server.sandbox('/phones', { phone: customer, name: HOSTILE });
      await open(page, 'Messages');
      await page.getByRole('link', { name: 'Send a message' }).click();
      await page.getByLabel('What to send').selectOption('Send an image');
      await page.getByRole('textbox', { name: 'To' }).fill(customer);
      await page.getByRole('textbox', { name: 'Caption' }).fill(HOSTILE);
      await page
        .locator('input[type=file]')
        .setInputFiles({ name: '<b>.png', mimeType: 'image/png', buffer: PIXEL });
      await look();
      await page.getByRole('button', { name: 'Send an image' }).click();
      await page.getByRole('link', { name: 'Open the message' }).click();
      await page.locator('[data-moment=read]').waitFor();
      await page.getByRole('link', { name: /Webhook message\.sent, attempt 1: 500/ }).waitFor();
      assert.equal(await page.locator('[data-content]').innerText(), HOSTILE);
      await look();
      await open(page, 'Messages');
      await page.locator('tbody tr').first().waitFor();
      await look();

      await open(page, 'Webhooks');
      await page.locator('tbody a').first().click();
      await page.getByText('500, server error').first().waitFor();
      await page.getByText(/^Failed: [1-9]/).waitFor();
      await look();
      const drawer = page.getByRole('dialog');
      await page.getByRole('button', { name: 'Replay what failed' }).click();
      await look();
      await drawer.getByRole('button', { name: 'Replay all of it' }).click();
      await drawer.getByText(/^Attempted again: [1-9]\d*\. Left out: \d+\.$/).waitFor();
      await drawer.getByRole('button', { name: 'Back' }).click();
      await page.locator('tbody a').first().click();
      await drawer.getByText(BROKEN).first().waitFor();
      await look();
      endpoint.mend();
      await drawer.getByRole('button', { name: 'Replay' }).click();
      await drawer.getByText('thank you').first().waitFor();
      await drawer.getByRole('button', { name: 'Back' }).click();
      await drawer.waitFor({ state: 'detached' });
      if (size === DESKTOP) {
        await rotateSecret(page);
        await look();
        await page.getByRole('button', { name: 'I have kept it' }).click();
        await page.getByText(/^whsec_/).waitFor({ state: 'detached' });
      }

      await open(page, 'Billing');
      await page.getByLabel('Number of the document').fill(CPF);
      await page.getByLabel('Legal name').fill('Padaria <b>Sol</b>');
      await page.getByRole('button', { name: 'Save and choose a plan' }).click();
      await page.getByRole('radio', { name: 'PIX' }).check();
      await page.getByRole('button', { name: 'Subscribe' }).click();
      await page.getByRole('img', { name: 'QR code to pay by PIX' }).waitFor();
      await look();
      const { billing } = await clientOf(server, email);
      await billing.simulator.act({ body: { action: 'pay' } });
      await page.locator('[data-tone=good]', { hasText: 'Active' }).waitFor();
      await look();

      await open(page, 'Settings');
      await page.getByRole('tab', { name: 'Team' }).click();
      const guest = `guest-${phone}@example.com`;
      await page.getByLabel('Name').fill('Bia');
      await page.getByRole('textbox', { name: 'E-mail' }).fill(guest);
      await page.getByRole('button', { name: 'Send the invitation' }).click();
      await page.getByText(`The invitation to ${guest} is on its way.`).waitFor();
      await look();
      const link = /\S+\/console\/invite\?token=\S+/;
      const agent = await browser.visit(size);
      await agent.page.goto(link.exec((await server.mailTo(guest, link)).text)?.[0] ?? '');
      await agent.page.getByLabel(/^New password/).fill(PASSWORD);
      await agent.page.getByRole('button', { name: 'Join' }).click();
      await signIn(agent.page, guest, PASSWORD);
      await agent.page.getByRole('heading', { name: 'Chats' }).waitFor();
      const entries = agent.page.getByRole('navigation').filter({ visible: true }).getByRole('link');
      assert.deepEqual(await entries.allInnerTexts(), MAY_SEE);
      const { client } = await clientOf(server, guest);
      await assert.rejects(async () => client.webhooks.list(), { status: 403 });

      await server.sandbox(`/phones/${customer}/messages`, { to: phone, type: 'text', text: HOSTILE });
      await agent.page.getByRole('link', { name: /Hello <img/ }).click();
      const messages = agent.page.getByRole('list', { name: /Messages/ });
      await messages.locator('[data-text]').filter({ hasText: HOSTILE }).first().waitFor();
      await agent.page.getByRole('textbox', { name: 'Write a message' }).fill('On its way');
      await agent.page.keyboard.press('Enter');
      await messages.locator('li', { hasText: 'On its way' }).getByText('Read').waitFor();
      await look(agent.page);
      for (const path of MAY_NOT_SEE) {
        // By the console's own router, like a link: loading everything anew takes much longer.
        await agent.page.evaluate(`history.pushState({}, '', '/console/${path}')`);
        await agent.page.waitForURL(/\/console\/(messages|chats)\b/);
      }

      if (size === DESKTOP) {
        await signOutInAllTabs(page, `${server.url}/console/instances`);
        await signIn(page, email, PASSWORD);
        await page.getByText('Messages of the last 24 hours').first().waitFor();
        await look();
      }
      assert.deepEqual(barriers, []);
      assert.deepEqual([...faults, ...agent.faults], []);
      await Promise.all([context.close(), agent.context.close()]);
    });
  }
});

async function rotateSecret(page: Page): Promise<void> {
  const button = { name: 'Rotate the secret' };
  await page.getByRole('button', button).click();
  await page.getByRole('dialog').getByRole('button', button).click();
  await page.getByText(/^whsec_/).waitFor();
}

/** Signs out in one tab, while another one shows the page of `url`. */
async function signOutInAllTabs(page: Page, url: string): Promise<void> {
  const other = await page.context().newPage();
  await other.goto(url);
  await other.locator('tbody tr').waitFor();
  await page.getByRole('button', { name: /Open the menu/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out in all tabs' }).click();
  for (const tab of [page, other]) await tab.getByRole('heading', { name: 'Sign in' }).waitFor();
}
