/** Pages have one main action, say nothing twice, and cut no word. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { newCpf } from '../billing/billing-harness.ts';
import { type Company, makeCompany } from './support/company.ts';
import { ROOT_EMAIL } from './support/console-server.ts';
import { enterConsole } from './support/person.ts';
import { enterAsRoot } from './support/root.ts';
import { useConsole } from './support/use-console.ts';

const started = useConsole();
let company: Company;

const enter = (next: string, email = company.email) => enterConsole(started, { next, email });

describe('a page', () => {
  before(async () => {
    company = await makeCompany(started.server);
    const document = { document_type: 'cpf', document_number: newCpf(), legal_name: 'Padaria Sol' } as const;
    await company.billing.profile.create({ body: { ...document, email: company.email } });
  });

  test('has one main action, however many forms stand on it', async () => {
    const page = await enter('/settings');
    for (const [path, sign] of [
      ['settings', 'Delete the company'],
      ['billing', 'Subscribe'],
      ['settings?tab=team', 'Send the invitation'],
    ] as const) {
      await page.evaluate(`history.pushState({}, '', '/console/${path}')`);
      await page.getByRole('button', { name: sign }).waitFor();
      const main = page.getByRole('main').locator('.mantine-Button-root:not([data-variant])');
      assert.deepEqual(await main.allInnerTexts(), [sign]);
    }
    await page.context().close();
  });

  test('of a send has no hint that only repeats the name of a field', async () => {
    const page = await enter(`/messages/new?instance=${company.instanceId}`);
    await page.getByLabel('Text').waitFor();
    await page.getByText('A phone number, an individual JID or a group JID').waitFor();
    assert.equal(await page.getByText('The text', { exact: true }).count(), 0);
    await page.context().close();
  });

  test('of the platform keeps the name of an event of the provider whole', async () => {
    const { server } = started;
    await company.billing.subscriptions.create({
      body: { plan_code: 'starter_monthly', billing_type: 'pix' },
    });
    await enterAsRoot(server);
    const page = await enter('/admin?tab=events', ROOT_EMAIL);
    const name = page.getByText('SUBSCRIPTION_CREATED').first();
    await name.waitFor();
    const box = await name.boundingBox();
    assert.ok(box && box.height < 30, 'it stands on one line');
    await page.context().close();
  });
});
