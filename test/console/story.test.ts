import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { DESKTOP, findBarriers, findTokens, PHONE } from './support/browser.ts';
import { startEndpoint } from './support/endpoint.ts';
import { open, PASSWORD, pairInstance, signIn, signUp } from './support/person.ts';
import { useConsole } from './support/use-console.ts';

/** Drawn as it stands: markup, and a mark that turns what follows around. */
const HOSTILE = 'Hello <img src=x onerror=alert(1)> \u202eolleh';
const BROKEN = '<script>alert("webhook")</script>';
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const started = useConsole();

for (const [name, size] of Object.entries({ DESKTOP, PHONE }))
  describe(`at the width of a ${name.toLowerCase()}`, () => {
    // long: one story, whose steps need those before them
    test('one signs up, pairs, sends, sees it read, mends a webhook and replays', async () => {
      const { server, browser } = started;
      const { page, faults, context } = await browser.visit(size);
      const barriers: string[] = [];
      const look = async () => {
        barriers.push(...(await findBarriers(page)));
        assert.deepEqual(await findTokens(page), [], page.url());
        assert.equal(await overflow(page), 0, `${page.url()} is wider than the screen`);
      };
      await page.goto(`${server.url}/`);
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      await look();
      const email = await signUp(server, page);
      await look();
      const instanceId = await pairInstance(server, page, HOSTILE.slice(0, 40));
      await look();
      await page.getByRole('tab', { name: 'Settings' }).click();
      await page.getByRole('switch', { name: 'Type before sending' }).click();
      await page.getByText('Saved.').waitFor();
      await look();

      const endpoint = await startEndpoint(BROKEN);
      await open(page, 'Webhooks');
      await page.getByRole('link', { name: 'New webhook' }).click();
      await page.getByLabel('Address').fill(endpoint.url);
      await look();
      await page.getByRole('button', { name: 'Create the webhook' }).click();
      await page.getByText(/^whsec_/).waitFor();
      await page.getByRole('link', { name: 'I have kept it' }).click();
      await page.getByRole('button', { name: 'Send a test' }).waitFor();

      await open(page, 'Messages');
      await page.getByRole('link', { name: 'Send a message' }).click();
      await page.getByRole('textbox', { name: 'To' }).fill('5511987654321');
      await page.getByRole('textbox', { name: 'Text' }).fill(HOSTILE);
      await look();
      await page.getByRole('button', { name: 'Send a text' }).click();
      await page.getByRole('link', { name: 'See what becomes of it' }).click();
      await page.locator('[data-moment=read]').waitFor();
      await page.getByText(/Webhook message\.sent, attempt 1: 500/).waitFor();
      assert.equal(await page.locator('[data-content]').innerText(), HOSTILE);
      await look();

      await page.goto(`${server.url}/console/messages/new?instance=${instanceId}`);
      await page.getByLabel('What to send').selectOption('Send an image');
      await page.getByRole('textbox', { name: 'To' }).fill('5511987654321');
      await page
        .locator('input[type=file]')
        .setInputFiles({ name: '<b>.png', mimeType: 'image/png', buffer: PIXEL });
      await page.getByRole('button', { name: 'Send an image' }).click();
      await page.getByRole('link', { name: 'See what becomes of it' }).waitFor();
      await open(page, 'Messages');
      await page.locator('tbody tr').nth(1).waitFor();
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
      await drawer.getByText('thank you').waitFor();
      await drawer.getByRole('button', { name: 'Back' }).click();
      await drawer.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Rotate the secret' }).click();
      await drawer.getByRole('button', { name: 'Rotate the secret' }).click();
      await page.getByText(/^whsec_/).waitFor();
      await look();
      await page.getByRole('button', { name: 'I have kept it' }).click();
      await page.getByText(/^whsec_/).waitFor({ state: 'detached' });
      endpoint.close();

      const other = await context.newPage();
      await other.goto(`${server.url}/console/instances`);
      await other.locator('tbody tr').waitFor();
      await page.getByRole('button', { name: /Open the menu/ }).click();
      await page.getByRole('menuitem', { name: 'Sign out in all tabs' }).click();
      for (const tab of [page, other]) await tab.getByRole('heading', { name: 'Sign in' }).waitFor();
      await signIn(page, email, PASSWORD);
      await page.getByText('Messages of the last 24 hours').first().waitFor();
      await look();
      assert.deepEqual(barriers, []);
      assert.deepEqual(faults, []);
    });
  });

/** Pixels by which a page is wider than its window. */
async function overflow(page: Page): Promise<number> {
  return (await page.evaluate(
    'Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)',
  )) as number;
}
