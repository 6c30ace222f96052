/** Users of the keyboard alone keep their place: browsers drop the focus of what is removed or disabled. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { PHONE } from './support/browser.ts';
import { type Company, makeCompany, pair } from './support/company.ts';
import { PASSWORD } from './support/person.ts';
import { useConsole } from './support/use-console.ts';

const CUSTOMER = '5511987650041';
const TABS_MAX = 60;

const started = useConsole();
let company: Company;

/** The role and the name of the focused element; "nothing" if the next Tab begins at the top. */
const FOCUSED = `(() => {
  const element = document.activeElement;
  if (element === document.body) return 'nothing';
  return element.getAttribute('aria-label') || element.labels?.[0]?.innerText || element.innerText || element.tagName;
})()`;

async function focused(page: Page): Promise<string> {
  return (await page.evaluate(FOCUSED)) as string;
}

/** Presses Tab until the focus is on a name. */
async function tabTo(page: Page, name: RegExp, key = 'Tab'): Promise<void> {
  const passed: string[] = [];
  while (passed.length < TABS_MAX) {
    await page.keyboard.press(key);
    passed.push(await focused(page));
    if (name.test(passed.at(-1) ?? '')) return;
  }
  assert.fail(`${name} cannot be reached, only ${passed.join(', ')}`);
}

/** Waits until the focus is on a name: it may pass by others first. */
async function restsOn(page: Page, name: RegExp): Promise<void> {
  for (const until = Date.now() + 45_000; ; await page.waitForTimeout(50)) {
    const now = await focused(page);
    if (name.test(now)) return;
    assert.ok(Date.now() < until, `the focus rests on ${now}, not on ${name}`);
  }
}

async function enter(next: string, size?: { width: number; height: number }): Promise<Page> {
  const { page } = await started.browser.visit(size);
  await page.goto(`${started.server.url}/console/login?next=${encodeURIComponent(next)}`);
  await restsOn(page, /^Sign in$/);
  await tabTo(page, /^E-mail/);
  await page.keyboard.type(company.email);
  await tabTo(page, /^Password/);
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: /Open the menu/ }).waitFor();
  return page;
}

describe('the keyboard', () => {
  before(async () => {
    company = await makeCompany(started.server);
    const { client, instanceId } = company;
    const file = new Blob(['hello'], { type: 'text/plain' });
    await started.server.sandbox('/phones', { phone: CUSTOMER, name: 'Carla' });
    const said = { to: company.phone, type: 'text', text: 'Which ones?' };
    await started.server.sandbox(`/phones/${CUSTOMER}/messages`, said);
    await client.messages.sendDocument({
      instanceId,
      body: { to: CUSTOMER, file, file_name: 'list.txt', caption: 'The list' },
    });
  });

  test('creates an instance and keeps its place when the phone pairs', async () => {
    const { client } = company;
    const page = await enter('/');
    await restsOn(page, /^Home$/);
    await tabTo(page, /^Instances$/);
    await page.keyboard.press('Enter');
    await restsOn(page, /^Instances$/);
    await page.getByRole('link', { name: 'New instance' }).waitFor();
    await tabTo(page, /^New instance$/);
    await page.keyboard.press('Enter');
    await restsOn(page, /^New instance$/);
    await tabTo(page, /^Name/);
    await page.keyboard.type('Keys');
    await page.keyboard.press('Enter');
    await page.locator('[data-qr]').waitFor();
    await tabTo(page, /^Scan a QR code$/);
    const { data } = await client.instances.list();
    const { id } = data.find(({ name }) => name === 'Keys') ?? {};
    assert.ok(id);
    await pair(started.server, client, id);
    await page.locator('dd [data-tone=good]').waitFor();
    await restsOn(page, /^Copy/);
    await page.context().close();
  });

  test('answers in a chat, and opens a file without losing its place', async () => {
    const page = await enter(`/chats?instance=${company.instanceId}`);
    await page.getByRole('link', { name: 'Carla' }).waitFor();
    await tabTo(page, /^Carla/);
    await page.keyboard.press('Enter');
    await restsOn(page, /^Write a message$/);
    await page.keyboard.type('Here you are');
    await tabTo(page, /^Send$/);
    await page.keyboard.press('Enter');
    await page
      .getByRole('list', { name: /Messages/ })
      .getByText('Here you are')
      .waitFor();
    await restsOn(page, /^Send$/);
    await tabTo(page, /^Open the file/, 'Shift+Tab');
    await page.keyboard.press('Enter');
    await restsOn(page, /^Save list.txt$/);

    await tabTo(page, /^Actions for this message/, 'Shift+Tab');
    for (let nth = 0; nth < 2; nth += 1) {
      await page.keyboard.press('Enter');
      await restsOn(page, /^React with 👍$/);
      await page.keyboard.press('Escape');
      await restsOn(page, /^Actions for this message/);
    }

    await tabTo(page, /^Actions for this chat$/, 'Shift+Tab');
    await page.keyboard.press('Enter');
    await restsOn(page, /^Details$/);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('Notes').waitFor();
    await tabTo(page, /^Note /);
    await page.keyboard.type('Pays late');
    await tabTo(page, /^Add the note$/);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /Pays late/ }).waitFor();
    await restsOn(page, /^Add the note$/);
    await page.keyboard.press('Escape');
    await restsOn(page, /^Actions for this chat$/);
    await page.context().close();
  });

  test('opens a chat on a phone, whose list of chats then goes', async () => {
    const page = await enter(`/chats?instance=${company.instanceId}`, PHONE);
    await page.getByRole('link', { name: 'Carla' }).waitFor();
    await tabTo(page, /^Carla/);
    await page.keyboard.press('Enter');
    await restsOn(page, /^Write a message$/);
    await tabTo(page, /^Back$/, 'Shift+Tab');
    await page.keyboard.press('Enter');
    // The first control of the list.
    await restsOn(page, /^All$/);
    await page.context().close();
  });

  test('stays on a button that works for a moment', async () => {
    const body = { url: 'http://127.0.0.1:9/hook', events: ['call.*'] } as const;
    const { id } = await company.client.webhooks.create({ body: { ...body, events: [...body.events] } });
    const page = await enter(`/webhooks/${id}`);
    await page.getByRole('button', { name: 'Send a test' }).waitFor();
    await tabTo(page, /^Send a test$/);
    await page.keyboard.press('Enter');
    await page.getByText('webhook.test, Attempt 1').waitFor();
    await restsOn(page, /^Send a test$/);
    await tabTo(page, /^webhook.test/);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Replay', exact: true }).waitFor();
    await tabTo(page, /^Replay$/);
    await page.keyboard.press('Enter');
    await page.getByText('It is attempted again.').waitFor();
    await restsOn(page, /^Replay$/);
    await page.keyboard.press('Escape');
    await restsOn(page, /^webhook.test/);
    await page.context().close();
  });

  test('goes on with the next row after one was deleted', async () => {
    for (const name of ['First', 'Second', 'Third']) await company.client.tokens.create({ body: { name } });
    const page = await enter('/settings?tab=keys');
    await page.getByRole('button', { name: /^Revoke: Second/ }).waitFor();
    await tabTo(page, /^Revoke: Second/);
    await page.keyboard.press('Enter');
    await restsOn(page, /^Back$/);
    await tabTo(page, /^Revoke$/);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /^Revoke: Second/ }).waitFor({ state: 'detached' });
    await restsOn(page, /^Revoke: First/);
    await page.context().close();
  });

  test('passes by the views of an instance with the arrow keys, and opens one with Enter', async () => {
    const page = await enter(`/messages?instance=${company.instanceId}`);
    await page.getByRole('tab', { name: 'Status' }).waitFor();
    await tabTo(page, /^All messages$/);
    for (const name of [/^Queue$/, /^Scheduled$/, /^Status$/, /^Media$/]) {
      await page.keyboard.press('ArrowRight');
      await restsOn(page, name);
    }
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Media', level: 1 }).waitFor();
    await restsOn(page, /^Media$/);
    await page.context().close();
  });

  test('goes back from a message to its row', async () => {
    const { client, instanceId } = company;
    for (const text of ['Row one', 'Row two'])
      await client.messages.sendText({ instanceId, body: { to: CUSTOMER, text } });
    const page = await enter(`/messages?instance=${instanceId}`);
    await page.getByRole('link', { name: 'Row one' }).waitFor();
    await tabTo(page, /^Row two$/);
    await page.keyboard.press('ArrowDown');
    await restsOn(page, /^Row one$/);
    await page.keyboard.press('Enter');
    await restsOn(page, /^Message$/);
    await page.goBack();
    await restsOn(page, /^Row one$/);
    await page.context().close();
  });

  test('signs out and begins at the heading of the sign-in', async () => {
    const page = await enter('/settings');
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
    await tabTo(page, /^Open the menu/, 'Shift+Tab');
    await page.keyboard.press('Enter');
    await restsOn(page, /^As the system$/);
    for (let moves = 0; !/^Sign out/.test(await focused(page)) && moves < 12; moves += 1)
      await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await restsOn(page, /^Sign in$/);
    await page.context().close();
  });

  test('does not drag back the focus of somebody who left a field', async () => {
    const page = await enter(`/messages?instance=${company.instanceId}`);
    await page.getByLabel('Phone, chat or message id').focus();
    await page.evaluate('document.activeElement.blur()');
    await company.client.messages.sendText({
      instanceId: company.instanceId,
      body: { to: CUSTOMER, text: 'A row more' },
    });
    await page.getByText('A row more').waitFor();
    await page.waitForTimeout(300);
    assert.equal(await focused(page), 'nothing');
    await page.context().close();
  });
});
