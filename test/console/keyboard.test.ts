/** Users of the keyboard alone keep their place: browsers drop the focus of what is removed or disabled. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { type Company, makeCompany } from './support/company.ts';
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
  for (const until = Date.now() + 15_000; ; await page.waitForTimeout(50)) {
    const now = await focused(page);
    if (name.test(now)) return;
    assert.ok(Date.now() < until, `the focus rests on ${now}, not on ${name}`);
  }
}

async function enter(next: string): Promise<Page> {
  const { page } = await started.browser.visit();
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
});
