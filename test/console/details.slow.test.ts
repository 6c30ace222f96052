/** Details of hostile and of old things, also for those who cannot hover. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { PHONE } from './support/browser.ts';
import { type Company, makeCompany } from './support/company.ts';
import { enterConsole } from './support/person.ts';
import { useConsole } from './support/use-console.ts';

const CUSTOMER = '5511987650051';
/** As `en-US` writes it: "Nov 28, 2026, 8:47:21 AM". */
const EXACT = /[A-Z][a-z]{2} \d{1,2}, \d{4}, \d{1,2}:\d{2}:\d{2}\s[AP]M/;

const started = useConsole();
let company: Company;

const enter = (next: string, size?: { width: number; height: number }) =>
  enterConsole(started, { next, email: company.email, size });

describe('details', () => {
  before(async () => {
    company = await makeCompany(started.server);
    await started.server.sandbox('/phones', { phone: CUSTOMER, name: 'Carla' });
  });

  test('of a message with a long text show its history without a long way', async () => {
    const { client, instanceId } = company;
    const text = 'a long line of many words '.repeat(2_000);
    const { message_id: id } = await client.messages.sendText({ instanceId, body: { to: CUSTOMER, text } });
    const page = await enter(`/instances/${instanceId}/messages/${id}`);
    const words = page.getByRole('region', { name: 'Content' });
    assert.equal(await words.locator('[data-content]').textContent(), text);
    const history = await page.getByRole('heading', { name: 'History' }).boundingBox();
    assert.ok(history && history.y < 1_000);
    await words.focus();
    await page.keyboard.press('End');
    await waitFor(() => page.evaluate(`document.activeElement.scrollTop > 1000 || null`));
    await page.context().close();
  });

  test('of an event, keys, files and notes say the exact time', async () => {
    const { client, instanceId } = company;
    const file = new Blob(['%PDF-1.4'], { type: 'application/pdf' });
    await client.media.upload({ instanceId, body: { file, file_name: 'list.pdf' } as never });
    const chatId = `${CUSTOMER}@s.whatsapp.net`;
    await client.messages.sendText({ instanceId, body: { to: CUSTOMER, text: 'Hello' } });
    await waitFor(async () => (await client.chats.list({ instanceId })).data.length > 0);
    await client.notes.create({ instanceId, chatId, body: { note: 'Pays late' } });
    const { data: events } = await client.events.list({});
    const page = await enter(`/events?event=${events[0]?.event_id}`);
    await page.getByRole('dialog').locator('time', { hasText: EXACT }).waitFor();
    for (const path of ['settings?tab=keys', `messages/media?instance=${instanceId}`]) {
      await page.evaluate(`history.pushState({}, '', '/console/${path}')`);
      await page.getByRole('main').locator('time', { hasText: EXACT }).first().waitFor();
    }
    await page.evaluate(`history.pushState({}, '', '/console/chats?instance=${instanceId}&chat=${chatId}')`);
    await page.getByRole('button', { name: 'Actions for this chat' }).click();
    await page.getByRole('menuitem', { name: 'Details' }).click();
    await page.getByRole('dialog').locator('time', { hasText: EXACT }).waitFor();
    await page.context().close();
  });

  test('of a chat are as wide as a phone, however long the name of a label is', async () => {
    const { client, instanceId } = company;
    await client.labels.create({ instanceId, body: { name: 'W'.repeat(60), color: 1 } });
    const page = await enter(`/chats?instance=${instanceId}&chat=${CUSTOMER}@s.whatsapp.net`, PHONE);
    await page.getByRole('button', { name: 'Actions for this chat' }).click();
    await page.getByRole('menuitem', { name: 'Details' }).click();
    await page.getByRole('checkbox', { name: /^W+$/ }).waitFor();
    const measured = `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('[role=dialog]'))`;
    assert.equal(await page.evaluate(measured), 0);
    await page.context().close();
  });

  test('of an event that was never delivered to a webhook do not ask for a test', async () => {
    const body = { url: 'http://127.0.0.1:9/hook', events: ['call.*'] } as const;
    const { id } = await company.client.webhooks.create({ body: { ...body, events: [...body.events] } });
    const page = await enter(`/webhooks/${id}?event=01a22156-6b53-73a0-94cd-14d48ff2d130`);
    const dialog = page.getByRole('dialog');
    await dialog.getByText('No attempt to deliver this event is stored.').waitFor();
    assert.equal(await dialog.getByText('Send a test').count(), 0);
    await page.context().close();
  });
});
