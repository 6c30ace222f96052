import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createClient } from '@posthorn/sdk/index.ts';
import type { Page } from 'playwright-core';
import { waitFor } from '../support/process.ts';
import { findBarriers, measureOverflow, PHONE } from './support/browser.ts';
import { makeCompany } from './support/company.ts';
import { ROOT_EMAIL } from './support/console-server.ts';
import { PASSWORD, signIn } from './support/person.ts';
import { enterAsRoot } from './support/root.ts';
import { useConsole } from './support/use-console.ts';

const CUSTOMER = '5521987650010';
/** The instance shows typing for so long before it sends this text that it stays in the queue until then. */
const LONG_TEXT = 'Your order has left our bakery and arrives before noon. '.repeat(20);

/** Public pages, with the text that each shows once it is complete. */
const FOR_STRANGERS = {
  login: 'Sign in',
  'sign-up': 'Sign up',
  'forgot-password': 'Reset the password',
  'reset-password?token=x': 'Choose a new password',
  'invite?token=x': 'Welcome to the team',
  'oauth/complete?token=x': 'One thing left',
};

// It looks at lists of the whole platform that have nothing yet.
const started = useConsole({ isNew: true });

/** By the console's own router, like a link: loading everything anew takes much longer. */
async function show(page: Page, path: string, sign: string): Promise<void> {
  await page.evaluate(`history.pushState({}, '', '/console/${path}')`);
  await page.getByText(sign).filter({ visible: true }).first().waitFor();
}

/** Collects the barriers of each page, and the pages that are wider than the screen. */
async function judge(page: Page, pages: Record<string, string>): Promise<string[]> {
  const found: string[] = [];
  for (const [path, sign] of Object.entries(pages)) {
    await show(page, path, sign);
    found.push(...(await findBarriers(page)));
    const px = await measureOverflow(page);
    if (px > 0) found.push(`${path} is ${px} px wider than the screen`);
  }
  return found;
}

describe('at the width of a phone, in the light and in the dark', () => {
  test('each page for strangers is as wide as the screen and has no barrier', async () => {
    const { server, browser } = started;
    const { page, context, faults } = await browser.visit(PHONE);
    await page.goto(`${server.url}/console/login`);
    assert.deepEqual(await judge(page, FOR_STRANGERS), []);

    // Stops a provider login at this page: the service does not answer yet.
    await context.route('**/auth/refresh', () => undefined);
    await context.addCookies([{ name: 'svc_csrf_token', value: 'x', url: server.url }]);
    assert.deepEqual(await judge(page, { 'oauth/callback': 'Signing in' }), []);
    assert.deepEqual(faults, []);
  });

  test('the page that asks for the code of the mail is, too', async () => {
    const { server, browser } = started;
    const email = `owner-${Date.now()}@example.com`;
    const body = { company_name: 'Padaria', owner_name: 'Ana', owner_email: email, password: PASSWORD };
    await createClient({ baseUrl: server.url }).auth.register({ body });
    const { page } = await browser.visit(PHONE);
    await page.goto(`${server.url}/console/login?next=/verify`);
    await signIn(page, email, PASSWORD);
    const pages = { verify: 'Send another code', settings: 'Your e-mail is not verified yet' };
    assert.deepEqual(await judge(page, pages), []);
  });

  test('each page for those who are signed in is as wide as the screen and has no barrier', async () => {
    const { server, browser } = started;
    const { client, email, instanceId, phone } = await makeCompany(server);
    await server.sandbox('/phones', { phone: CUSTOMER, name: 'Carla' });
    await server.sandbox(`/phones/${CUSTOMER}/messages`, { to: phone, type: 'text', text: 'Good morning' });
    const { id: webhookId } = await client.webhooks.create({
      body: { url: 'https://hooks.example.test/', events: ['call.*'] },
    });
    const send = (text: string) => client.messages.sendText({ instanceId, body: { to: CUSTOMER, text } });
    const { message_id: messageId } = await send('On its way');
    await waitFor(async () => (await client.chats.list({ instanceId })).data.length > 0);
    await enterAsRoot(server);

    const { page, faults } = await browser.visit(PHONE);
    await page.goto(`${server.url}/console/login?next=/instances`);
    await signIn(page, email, PASSWORD);
    await page.getByText('Balcão').waitFor();
    const at = `instance=${instanceId}`;
    const chat = `${CUSTOMER}@s.whatsapp.net`;
    await client.instances.updateSettings({ instanceId, body: { humanize_enabled: true } });
    // More than one is typed while slow machines look for barriers.
    for (const text of [...Array(6).fill(LONG_TEXT), 'Behind it']) await send(text);
    const found = await judge(page, { [`messages?${at}&show=queue`]: 'Waits for its turn' });
    await page.getByRole('button', { name: 'Cancel everything' }).click();
    await page.getByRole('dialog').getByText('Every waiting message fails').waitFor();
    found.push(...(await findBarriers(page)));
    await page.getByRole('dialog').getByRole('button', { name: 'Back' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const pages = {
      '': 'Usage of the plan',
      instances: 'Balcão',
      'instances/new': 'Create and connect',
      [`instances/${instanceId}`]: 'History',
      [`instances/${instanceId}?tab=settings`]: 'Type before sending',
      [`chats?${at}`]: 'Carla',
      [`chats?${at}&chat=${chat}`]: 'Good morning',
      [`messages?${at}`]: 'Good morning',
      [`messages?${at}&show=scheduled`]: 'Nothing is scheduled',
      [`instances/${instanceId}/messages/${messageId}`]: 'History',
      [`messages/new?${at}`]: 'Send it from a program',
      [`messages/status?${at}`]: 'Post the first one',
      [`messages/status/new?${at}`]: 'Post a text status',
      [`messages/media?${at}`]: 'No file of this kind',
      [`messages/catalog?${at}`]: 'This account shows no products',
      [`messages/templates?${at}`]: 'has no templates',
      webhooks: 'hooks.example.test',
      'webhooks/new': 'Create the webhook',
      [`webhooks/${webhookId}`]: 'Nothing was delivered yet',
      'events?types=instance.*': 'instance.connected',
      billing: 'Billing details',
      settings: 'You sign in with',
      'settings?tab=team': 'Invite somebody',
      'settings?tab=keys': 'Create the key',
      'settings?tab=audit': 'token.created',
      playground: 'sends are left today',
      nowhere: 'There is no such page',
    };
    found.push(...(await judge(page, pages)));
    await show(page, `chats?${at}&chat=${chat}`, 'Good morning');
    await page.getByRole('button', { name: 'Actions for this chat' }).click();
    await page.getByRole('menuitem', { name: 'Details' }).click();
    await page.getByRole('dialog').getByText('Notes').waitFor();
    found.push(...(await findBarriers(page)));
    assert.deepEqual(found, []);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const entries = await page.getByRole('navigation').filter({ visible: true }).boundingBox();
    const line = await page.getByRole('textbox', { name: 'Write a message' }).boundingBox();
    assert.ok(entries && line && line.y + line.height < entries.y, 'one sees where to write');
    await show(page, `messages?${at}`, 'Good morning');
    const row = page.locator('tbody tr', { hasText: 'Good morning' });
    for (const column of ['Contact', 'Status', 'When']) {
      const cell = await row.getByRole('cell', { name: column }).boundingBox();
      assert.ok(cell && cell.x + cell.width <= PHONE.width, column);
    }

    const root = await browser.visit(PHONE);
    await root.page.goto(`${server.url}/console/login?next=/admin`);
    await signIn(root.page, ROOT_EMAIL, PASSWORD);
    const ofPlatform = await judge(root.page, {
      admin: 'Suspend',
      'admin?tab=instances': 'Balcão',
      'admin?tab=events': 'Nothing is here yet',
      'admin?tab=feedback': 'Nothing is here yet',
    });
    assert.deepEqual(ofPlatform, []);
    assert.deepEqual([...faults, ...root.faults], []);
  });
});
