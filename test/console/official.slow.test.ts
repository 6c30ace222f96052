import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { LACKS } from '@posthorn/network/whatsapp-cloud/lacks.ts';
import { waitFor } from '../support/process.ts';
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
async function connectOfficial(phone: string): Promise<string> {
  const { client } = company;
  const number = (await server.sandbox('/cloud/numbers', { phone })) as Record<string, string>;
  const { id } = await client.instances.create({
    body: { name: `Official ${phone}`, driver: 'whatsapp-cloud' },
  });
  await client.instances.giveCredentials({
    instanceId: id,
    body: {
      phone_number_id: number.phone_number_id ?? '',
      business_account_id: number.business_account_id ?? '',
      access_token: number.access_token ?? '',
      app_secret: number.app_secret ?? '',
    },
  });
  await waitFor(async () => (await client.instances.get({ instanceId: id })).state === 'CONNECTED');
  return id;
}

describe('an official number', () => {
  // long: one number, from its making to the first message to it
  test('is connected by its credentials, and says what may be sent to a chat', async () => {
    const [phone, customer] = ['5511988880010', '5511987650061'];
    const number = (await server.sandbox('/cloud/numbers', { phone })) as Record<string, string>;
    const { page, faults } = await browser.visit();
    await page.goto(`${server.url}/console/login?next=/instances/new`);
    await signIn(page, company.email, PASSWORD);
    await page.getByLabel('Name').fill('Official counter');
    await page.getByLabel('Connects by').selectOption({ label: 'Credentials of an official number at Meta' });
    await page.getByRole('button', { name: 'Create and give the credentials' }).click();
    await page.getByRole('heading', { name: 'Connect the official number' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Connect', exact: true }).count(), 0);
    await page.getByLabel('Phone number ID').fill(number.phone_number_id ?? '');
    await page.getByLabel('WhatsApp Business Account ID').fill(number.business_account_id ?? '');
    await page.getByRole('textbox', { name: 'App secret' }).fill(number.app_secret ?? '');
    await page.getByRole('textbox', { name: 'Access token' }).fill('EAA-of-somebody-else');
    const submit = page.getByRole('button', { name: 'Connect the number' });
    await submit.click();
    await page.getByText('CREDENTIALS_REFUSED').waitFor();
    assert.deepEqual(await findBarriers(page), []);
    await page.getByRole('textbox', { name: 'Access token' }).fill(` ${number.access_token} `);
    await submit.click();
    await page.locator('dd [data-tone=good]').waitFor();
    assert.equal(await submit.count(), 0);
    assert.ok(!(await page.content()).includes(number.access_token ?? ''));
    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Replace the credentials' }).waitFor();

    const { data } = await company.client.instances.list();
    const instance = data.find(({ name }) => name === 'Official counter')?.id;
    const chat = `${customer}@s.whatsapp.net`;
    await page.goto(`${server.url}/console/chats?instance=${instance}&chat=${chat}`);
    const note = page.getByText('only templates that Meta approved');
    await note.waitFor();
    assert.deepEqual(await findBarriers(page), []);
    await page.getByRole('link', { name: 'Send a template' }).click();
    const to = page.getByRole('textbox', { name: 'To' });
    await to.waitFor();
    assert.equal(await to.inputValue(), chat);
    await server.sandbox(`/cloud/numbers/${phone}/messages`, { from: customer, text: 'Are you open?' });
    await page.goBack();
    await page.getByText('Are you open?').first().waitFor();
    await note.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Actions for this chat' }).click();
    await page.getByRole('menuitem', { name: 'Details' }).waitFor();
    assert.equal(await page.getByRole('menuitem', { name: 'Archive' }).count(), 0);
    assert.deepEqual(faults, []);
  });
});

describe('templates of an official number', () => {
  // long: one template, from its making to its end
  test('are made with an example of each placeholder, shown with the state of their review, and deleted', async () => {
    const instanceId = await connectOfficial('5511988880009');
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

  test('are sent with the values of their placeholders', async () => {
    const phone = '5511988880011';
    const instanceId = await connectOfficial(phone);
    await company.client.templates.create({
      instanceId,
      body: {
        ...{ name: 'order_left', language: 'en_US', category: 'UTILITY' },
        components: [
          { type: 'BODY', text: 'Hi {{1}}, your order left.', example: { body_text: [['Ana']] } },
          {
            type: 'BUTTONS',
            buttons: [
              { type: 'URL', text: 'Follow it', url: 'https://bread.example.test/{{1}}', example: ['a'] },
            ],
          },
        ],
      },
    });
    await server.sandbox(`/cloud/numbers/${phone}/templates/order_left/review`, { status: 'APPROVED' });
    const { page } = await browser.visit();
    const next = `/messages/new?instance=${instanceId}&kind=approved-template&to=5511987650062`;
    await page.goto(`${server.url}/console/login?next=${encodeURIComponent(next)}`);
    await signIn(page, company.email, PASSWORD);
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('order_left');
    await page.getByRole('textbox', { name: 'Language' }).fill('en_US');
    const add = page.getByRole('button', { name: 'Add one' });
    const component = (n: number) => page.getByRole('group', { name: `Component ${n}` });
    const fillParameter = async (n: number, text: string) => {
      await component(n).getByRole('button', { name: 'Add one' }).click();
      const parameter = component(n).getByRole('group', { name: 'Parameter 1' });
      await parameter.getByRole('textbox', { name: 'Type' }).fill('text');
      await parameter.getByRole('textbox', { name: 'Text', exact: true }).fill(text);
    };
    await add.click();
    await component(1).getByRole('combobox', { name: 'Type' }).selectOption('body');
    await fillParameter(1, 'Bia');
    await add.last().click();
    await component(2).getByRole('combobox', { name: 'Type' }).selectOption('carousel');
    await component(2).getByText('Cards', { exact: true }).waitFor();
    await component(2).getByRole('combobox', { name: 'Type' }).selectOption('button');
    await component(2).getByRole('textbox', { name: 'Sub type' }).fill('url');
    await component(2).getByRole('textbox', { name: 'Index' }).fill('0');
    await fillParameter(2, '1001');
    await page.getByRole('button', { name: 'Send a template that Meta has approved' }).click();
    await page.getByRole('link', { name: 'Open the message' }).waitFor();
    const { data } = await company.client.messages.list({ instanceId, query: { type: 'approved_template' } });
    assert.deepEqual(data[0]?.content.components, [
      { type: 'body', parameters: [{ type: 'text', text: 'Bia' }] },
      { type: 'button', sub_type: 'url', index: 0, parameters: [{ type: 'text', text: '1001' }] },
    ]);
    const messageId = data[0]?.message_id ?? '';
    await waitFor(async () => (await company.client.messages.get({ instanceId, messageId })).sent_at);
    await page.context().close();
  });

  test('leave a list of several pages when they are deleted', async () => {
    const instanceId = await connectOfficial('5511988880012');
    const names = Array.from({ length: 100 }, (_, nth) => `order_${100 + nth}`);
    const { page } = await browser.visit();
    const next = `/messages/templates?instance=${instanceId}`;
    await page.route(/\/templates(\?|\/order_)/, (route) => {
      const url = new URL(route.request().url());
      if (route.request().method() === 'DELETE') {
        names.splice(names.indexOf(url.pathname.split('/').at(-1)!), 1);
        return route.fulfill({ status: 204 });
      }
      const from = Number(url.searchParams.get('cursor') ?? 0);
      const templates = names.slice(from, from + 50).map((name) => ({
        ...{ id: name, name, language: 'en_US', category: 'UTILITY', status: 'APPROVED', components: [] },
        ...{ quality: null, rejected_reason: null },
      }));
      const next_page_cursor = from + 50 < names.length ? String(from + 50) : undefined;
      return route.fulfill({ json: { templates, ...(next_page_cursor && { next_page_cursor }) } });
    });
    await page.goto(`${server.url}/console/login?next=${encodeURIComponent(next)}`);
    await signIn(page, company.email, PASSWORD);
    await page.getByText('order_100').waitFor();
    await page.getByRole('button', { name: 'Load more' }).scrollIntoViewIfNeeded();
    const row = page.locator('tbody tr', { hasText: 'order_151' });
    await row.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await row.waitFor({ state: 'detached' });
    await page.getByText('order_152').waitFor();
    await page.context().close();
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
