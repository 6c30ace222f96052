/** Buttons of rows: each says for which thing it is, and asks before it costs or destroys something. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { newCpf } from '../billing/billing-harness.ts';
import { findBarriers, PHONE } from './support/browser.ts';
import { type Company, makeCompany } from './support/company.ts';
import { ROOT_EMAIL } from './support/console-server.ts';
import { PASSWORD, signIn } from './support/person.ts';
import { enterAsRoot } from './support/root.ts';
import { useConsole } from './support/use-console.ts';

const started = useConsole();
let company: Company;

async function enter(next: string, { email = company.email, locale = 'en-US' } = {}): Promise<Page> {
  const { page } = await started.browser.visit(undefined, locale);
  await page.goto(`${started.server.url}/console/login?next=${encodeURIComponent(next)}`);
  if (locale === 'en-US') await signIn(page, email, PASSWORD);
  else {
    await page.locator('input[type=email]').fill(email);
    await page.locator('input[type=password]').fill(PASSWORD);
    await page.locator('button[type=submit]').click();
  }
  return page;
}

/** The names of the buttons and of the links that look like them, as a screen reader lists them. */
async function buttonsOf(page: Page): Promise<string[]> {
  const buttons = page.getByRole('main').locator('button, a.mantine-Button-root');
  return (await buttons.all()).reduce<Promise<string[]>>(async (names, button) => {
    const label = (await button.getAttribute('aria-label')) ?? (await button.innerText());
    return [...(await names), label.trim()];
  }, Promise.resolve([]));
}

describe('the console', () => {
  before(async () => {
    company = await makeCompany(started.server);
    const { client } = company;
    for (const name of ['CI', 'Shop']) await client.tokens.create({ body: { name } });
    for (const name of ['Bia', 'Caio'])
      await client.users.create({
        body: { email: `${name}-${Date.now()}@example.com`, name, role: 'agent', password: PASSWORD },
      });
    for (const text of ['Open at eight', 'Open at nine'])
      await client.scheduled.create({
        instanceId: company.instanceId,
        body: { type: 'text', send_at: '2027-03-14T15:30:00.000Z', body: { to: '5511987650031', text } },
      });
  });

  describe('buttons of rows', () => {
    for (const [locale, words] of Object.entries({
      'en-US': { revoke: 'Revoke: Shop', remove: 'Remove: Bia', cancel: 'Cancel: Open at nine' },
      'pt-BR': { revoke: 'Revogar: Shop', remove: 'Remover: Bia', cancel: 'Cancelar: Open at nine' },
    }))
      test(`are told apart by their names, in ${locale}`, async () => {
        const at = `/messages?instance=${company.instanceId}&show=scheduled`;
        for (const [path, name] of [
          ['/settings?tab=keys', words.revoke],
          ['/settings?tab=team', words.remove],
          [at, words.cancel],
        ] as const) {
          const page = await enter(path, { locale });
          await page.getByRole('button', { name }).first().waitFor();
          const names = await buttonsOf(page);
          assert.deepEqual(
            names.filter((each, nth) => names.indexOf(each) !== nth),
            [],
            `${path}: ${names.join(', ')}`,
          );
          await page.context().close();
        }
      });
  });

  test('cancels a scheduled message once that was confirmed, and a second Enter cancels no other', async () => {
    const { client, instanceId } = company;
    const cancelled = async () => {
      const { data } = await client.scheduled.list({ instanceId });
      return data.flatMap(({ status, body }) => (status === 'cancelled' ? [body.text] : []));
    };
    const page = await enter(`/messages?instance=${instanceId}&show=scheduled`);
    await page.getByRole('button', { name: 'Cancel: Open at nine' }).press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('This message will not be sent: Open at nine').waitFor();
    assert.deepEqual(await findBarriers(page), []);
    await dialog.getByRole('button', { name: 'Cancel' }).press('Enter');
    await page.keyboard.press('Enter');
    await page.getByText('Cancelled').waitFor();
    // The focus may be on the next one's button by now: that asks as well.
    await page.keyboard.press('Enter');
    await delay(1_000);
    assert.deepEqual(await cancelled(), ['Open at nine']);
    await page.context().close();
  });

  describe('an add-on', () => {
    test('is bought and removed after the price was confirmed', async () => {
      const { billing, email } = company;
      const document = {
        document_type: 'cpf',
        document_number: newCpf(),
        legal_name: 'Padaria Sol',
      } as const;
      await billing.profile.create({ body: { ...document, email } });
      await billing.subscriptions.create({ body: { plan_code: 'starter_monthly', billing_type: 'pix' } });
      const page = await enter('/billing');
      const add = page.getByRole('button', { name: /^Add .+ \(R\$/ }).first();
      await add.click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText(/ costs R\$\s?[\d.]+ a month\./).waitFor();
      assert.deepEqual(await findBarriers(page), []);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      const items = async () => (await billing.subscriptions.current()).items.length;
      assert.equal(await items(), 1);
      await add.and(page.locator(':focus')).waitFor();
      await add.click();
      await dialog.getByRole('button', { name: /^Add / }).click();
      const remove = page.getByRole('button', { name: /^Remove: / });
      await remove.click();
      assert.equal(await items(), 2);
      await dialog.getByRole('button', { name: 'Remove' }).click();
      await remove.waitFor({ state: 'detached' });
      assert.equal(await items(), 1);
    });
  });

  describe('the administration', () => {
    test('does not offer to suspend the platform itself', async () => {
      await enterAsRoot(started.server);
      const page = await enter('/admin', { email: ROOT_EMAIL });
      const suspend = page.getByRole('button', { name: /^Suspend/ });
      await suspend.first().waitFor();
      const companies = await page.locator('tbody tr').count();
      assert.ok(companies >= 2);
      assert.equal(await suspend.count(), companies - 1);
    });
  });

  describe('on a phone', () => {
    test('a webhook with the longest address has its actions in sight, and a password is shown by keyboard', async () => {
      const url = `https://hooks.example.test/${'path/'.repeat(380)}`;
      const { id } = await company.client.webhooks.create({ body: { url, events: ['call.*'] } });
      const page = await enter(`/webhooks/${id}`);
      await page.setViewportSize(PHONE);
      const test = await page.getByRole('button', { name: 'Send a test' }).boundingBox();
      assert.ok(test && test.y + test.height < PHONE.height, `at ${test?.y} px`);
      await page.getByRole('button', { name: 'Copy: Address' }).waitFor();
      await page.goto(`${started.server.url}/console/settings`);
      const password = page.getByRole('textbox', { name: /New password/ });
      await password.fill('correct horse');
      await password.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Hide: New password' }).waitFor();
      assert.equal(await password.getAttribute('type'), 'text');
      await page.context().close();
    });
  });

  describe('an exact time', () => {
    test('stands in the details, for those who cannot hover', async () => {
      const page = await enter(`/instances/${company.instanceId}`);
      await page
        .locator('[data-moment] time', { hasText: /, \w+ \d+, \d{4}, \d+:\d\d:\d\d/ })
        .first()
        .waitFor();
      await page.context().close();
    });
  });
});
