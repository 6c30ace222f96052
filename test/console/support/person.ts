import { randomBytes, randomInt } from 'node:crypto';
import type { Page } from 'playwright-core';
import { codeIn } from '../../accounts/support/mailbox.ts';
import type { TestBrowser } from './browser.ts';
import type { ConsoleServer } from './console-server.ts';

export const PASSWORD = 'correct horse battery';

/** Signs up and enters the code of the mail; returns the e-mail. Ends at home, where nothing is done yet. */
export async function signUp(server: ConsoleServer, page: Page): Promise<string> {
  const id = randomBytes(4).toString('hex');
  const email = `owner-${id}@example.com`;
  await page.goto(`${server.url}/console/sign-up`);
  await page.getByLabel('Your name').fill('Ana Souza');
  await page.getByLabel('Company').fill(`Loja ${id}`);
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel(/^Password/).fill(PASSWORD);
  await page.getByRole('button', { name: 'Create the account' }).click();
  await page.getByRole('heading', { name: 'Verify your e-mail' }).waitFor();
  await page.getByLabel('Code').fill(codeIn(await server.mailTo(email, /\d{6}/)));
  await page.getByRole('button', { name: 'Verify' }).click();
  await page.getByRole('heading', { name: 'First steps' }).waitFor();
  return email;
}

export async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel(/^Password/).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Creates an instance and lets a phone scan its code; ends on its page, connected. Returns the phone. */
export async function pairInstance(server: ConsoleServer, page: Page, name: string): Promise<string> {
  await open(page, 'Instances');
  await page.getByRole('link', { name: 'New instance' }).click();
  await page.getByLabel('Name').fill(name);
  await page.getByRole('button', { name: 'Create and connect' }).click();
  const qr = await page.locator('[data-qr]').getAttribute('data-qr');
  // Two stories may pair in the same millisecond.
  const phone = `5511${String(randomInt(1e8, 1e9))}`;
  await server.sandbox('/pair', { qr, phone });
  await page.locator('dd [data-tone=good]').waitFor();
  return phone;
}

type Entry = 'Instances' | 'Messages' | 'Webhooks' | 'Billing' | 'Settings';

/** Opens a page by its entry, at the left or, on a phone, at the bottom. */
export async function open(page: Page, entry: Entry): Promise<void> {
  const entries = page.getByRole('navigation').filter({ visible: true });
  const link = entries.getByRole('link', { name: entry, exact: true });
  const more = entries.getByRole('button', { name: 'More' });
  await link.or(more).first().waitFor();
  if (await link.isVisible()) await link.click();
  else {
    await more.click();
    await page.getByRole('menuitem', { name: entry, exact: true }).click();
  }
  await page.getByRole('heading', { name: entry, exact: true, level: 1 }).waitFor();
}

/** A page of somebody who signs in and lands on the path `next`. */
export async function enterConsole(
  started: { readonly server: ConsoleServer; readonly browser: TestBrowser },
  person: { next: string; email: string; size?: { width: number; height: number } | undefined },
): Promise<Page> {
  const { page } = await started.browser.visit(person.size);
  await page.goto(`${started.server.url}/console/login?next=${encodeURIComponent(person.next)}`);
  await signIn(page, person.email, PASSWORD);
  return page;
}
