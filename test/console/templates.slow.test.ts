import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { LACKS } from '@posthorn/network/whatsapp-cloud/lacks.ts';
import { findBarriers, openBrowser, PHONE, type TestBrowser } from './support/browser.ts';
import { type Company, makeCompany } from './support/company.ts';
import { type ConsoleServer, startConsoleServer } from './support/console-server.ts';
import { PASSWORD, signIn } from './support/person.ts';

const TABS = ['All messages', 'Queue', 'Scheduled', 'Media', 'Templates'];

let server: ConsoleServer;
let browser: TestBrowser;
let company: Company;
before(async () => {
  server = await startConsoleServer({ hasOfficial: true });
  browser = await openBrowser(server.url, server.billingUrl);
  company = await makeCompany(server);
});
after(async () => {
  await browser?.close();
  await server?.close();
});

/** An instance with an official number, which the sandbox provides. */
async function connectOfficial(): Promise<string> {
  const { client } = company;
  const number = (await server.sandbox('/cloud/numbers', { phone: '5511988880009' })) as Record<
    string,
    string
  >;
  const { id } = await client.instances.create({ body: { name: 'Official', driver: 'whatsapp-cloud' } });
  await client.instances.giveCredentials({
    instanceId: id,
    body: {
      phone_number_id: number.phone_number_id ?? '',
      business_account_id: number.business_account_id ?? '',
      access_token: number.access_token ?? '',
      app_secret: number.app_secret ?? '',
    },
  });
  return id;
}

describe('templates of an official number', () => {
  // long: one template, from its making to its end
  test('are made with an example of each placeholder, shown with the state of their review, and deleted', async () => {
    const instanceId = await connectOfficial();
    const { page, faults } = await browser.visit();
    await page.goto(`${server.url}/console/login`);
    await signIn(page, company.email, PASSWORD);
    await page.getByText('Messages of the last 24 hours').first().waitFor();
    await page.goto(`${server.url}/console/messages/templates?instance=${instanceId}`);
    await page.getByText('There is no template yet.').waitFor();
    assert.ok(['business_catalog', 'status_text'].every((name) => LACKS.some((lack) => lack === name)));
    assert.deepEqual(await page.getByRole('tab').allInnerTexts(), TABS);

    await page.getByLabel('Name').fill('Order Shipped');
    await page.getByRole('textbox', { name: 'Text' }).fill('Hi {{1}} <b>, your order left.');
    await page.getByLabel('Example of {{1}}').fill('Ana');
    await page.getByRole('button', { name: 'Submit to Meta' }).click();
    await page.getByText('lower-case letters, digits and _').last().waitFor();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Name').fill('order_shipped');
    await page.getByRole('button', { name: 'Submit to Meta' }).click();
    await page.getByText('Meta reviews order_shipped.').waitFor();
    const row = page.locator('tbody tr', { hasText: 'order_shipped' });
    await row.getByText('In review').waitFor();
    await row.getByText('Hi {{1}} <b>, your order left.').waitFor();
    assert.deepEqual(await findBarriers(page), []);
    const { templates } = await company.client.templates.list({ instanceId });
    assert.deepEqual(templates[0]?.components, [
      { type: 'BODY', text: 'Hi {{1}} <b>, your order left.', example: { body_text: [['Ana']] } },
    ]);

    await server.sandbox('/cloud/numbers/5511988880009/templates/order_shipped/review', {
      status: 'APPROVED',
    });
    await row.getByText('Approved').waitFor();
    await page.setViewportSize(PHONE);
    await row.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByText('order_shipped (en_US) can no longer be sent').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('There is no template yet.').waitFor();
    assert.deepEqual((await company.client.templates.list({ instanceId })).templates, []);
    assert.deepEqual(faults, []);
  });

  test('are no view of an instance whose network has none', async () => {
    const { page } = await browser.visit();
    await page.goto(`${server.url}/console/login`);
    await signIn(page, company.email, PASSWORD);
    await page.getByText('Messages of the last 24 hours').first().waitFor();
    await page.goto(`${server.url}/console/messages?instance=${company.instanceId}`);
    await page.getByRole('tab', { name: 'Catalog' }).waitFor();
    assert.equal(await page.getByRole('tab', { name: 'Templates' }).count(), 0);
    await page.goto(`${server.url}/console/messages/templates?instance=${company.instanceId}`);
    await page.getByText('The network of this instance has no templates.').waitFor();
  });
});
