import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DESKTOP, findBarriers, PHONE } from './support/browser.ts';
import { makeCompany } from './support/company.ts';
import { passOn } from './support/pass-on.ts';
import { enterConsole, PASSWORD, signIn } from './support/person.ts';
import { useConsole } from './support/use-console.ts';

const CUSTOMER = '5511987650001';
const HOSTILE = 'Hi <img src=x onerror=alert(1)> \u202eolleh';

const WRONG_FILE = { name: 'wrong.txt', mimeType: 'text/plain', buffer: Buffer.from('not this one') };

const started = useConsole();

describe('chats', () => {
  // long: one conversation, whose steps need those before them
  test('an agent answers: new messages show by themselves, and each message can be reacted to, changed and deleted', async () => {
    const { server, browser } = started;
    const { client, instanceId, phone } = await makeCompany(server);
    const say = (from: string, to: string, text: string) =>
      server.sandbox(`/phones/${from}/messages`, { to, type: 'text', text });
    await server.sandbox('/phones', { phone: CUSTOMER, name: HOSTILE });
    await say(CUSTOMER, phone, HOSTILE);
    const email = `agent-${Date.now()}@example.com`;
    await client.users.create({ body: { email, name: 'Bia', role: 'agent', password: PASSWORD } });

    const { page, context, faults } = await browser.visit(DESKTOP);
    await page.goto(`${server.url}/console/login`);
    await signIn(page, email, PASSWORD);
    await page.getByRole('link', { name: /Hi <img/ }).click();
    const messages = page.getByRole('list', { name: /Messages/ });
    assert.equal(await messages.locator('[data-text]').textContent(), HOSTILE);
    assert.deepEqual(await findBarriers(page), []);
    await page.getByRole('button', { name: 'Mark as read' }).click();
    await page.getByRole('button', { name: 'Mark as read' }).waitFor({ state: 'detached' });

    const bubble = (text: string) => messages.locator('li', { hasText: text });
    const field = page.getByRole('textbox', { name: 'Write a message' });
    await page.locator('input[type=file]').setInputFiles(WRONG_FILE);
    await page.getByText(WRONG_FILE.name).waitFor();
    await page.getByRole('button', { name: 'Take the file out' }).click();
    await page.getByText(WRONG_FILE.name).waitFor({ state: 'detached' });
    const held = Promise.withResolvers<void>();
    await context.route('**/messages/text', async (route) => {
      await held.promise;
      await route.continue();
    });
    await field.fill('On its way');
    await page.keyboard.press('Enter');
    await field.pressSequentially(' at noon');
    held.resolve();
    await bubble('On its way').getByText('Read').waitFor();
    assert.equal(await field.inputValue(), 'at noon');
    await context.unroute('**/messages/text');
    await say(CUSTOMER, phone, 'Thanks, it came');
    await bubble('Thanks, it came').waitFor();
    await say(phone, CUSTOMER, 'Written on the phone');
    await bubble('Written on the phone').getByText('from the phone').waitFor();

    await bubble('On its way').getByRole('button', { name: 'Actions for this message' }).click();
    await page.getByRole('menuitem', { name: 'Delete for everyone' }).waitFor();
    assert.deepEqual(await findBarriers(page), []);
    await page.keyboard.press('Escape');
    await page.getByRole('menuitem', { name: 'Delete for everyone' }).waitFor({ state: 'detached' });
    const act = async (text: string, name: string) => {
      await bubble(text).getByRole('button', { name: 'Actions for this message' }).click();
      const item = page.getByRole('menuitem', { name, exact: true });
      await item.click();
      // On a busy machine it is still closing when the next one opens.
      await item.waitFor({ state: 'detached' });
    };
    await act('Thanks, it came', 'React with ❤️');
    await bubble('Thanks, it came').getByText('❤️').waitFor();
    await act('Thanks, it came', 'Reply');
    await page.locator('textarea:focus').waitFor();
    await page.getByRole('textbox', { name: 'Write a message' }).fill('Glad to hear');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await bubble('Glad to hear').getByText('Thanks, it came').waitFor();
    await bubble('Glad to hear').getByText('Read').waitFor();
    await act('On its way', 'Edit');
    await page.getByRole('textbox', { name: 'Change the message' }).fill('Already there');
    await page.getByRole('button', { name: 'Save' }).click();
    await bubble('Already there').getByText('edited').waitFor();
    await act('Glad to hear', 'Delete for everyone');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete for everyone' }).click();
    await messages.getByText('This message was deleted.').waitFor();
    const sent = await client.messages.list({ instanceId, query: { direction: 'outbound', type: 'text' } });
    assert.equal(sent.data.filter(({ source }) => source === 'api').length, 2, 'nothing went twice');

    const group = { name: 'Deliveries', participants: [phone] };
    const { jid } = (await server.sandbox(`/phones/${CUSTOMER}/groups`, group)) as { jid: string };
    await say(CUSTOMER, jid, 'Who brings it?');
    await page.getByRole('link', { name: /Deliveries/ }).click();
    await bubble('Who brings it?').getByText(CUSTOMER).waitFor();

    await page.setViewportSize(PHONE);
    assert.equal(await page.getByRole('list', { name: 'Chats' }).isVisible(), false);
    assert.deepEqual(await findBarriers(page), []);
    await page.getByRole('link', { name: 'Back' }).click();
    await page.getByRole('list', { name: 'Chats' }).waitFor();
    await page.getByText('Archived', { exact: true }).click();
    await page.getByText('No chat is archived.').waitFor();
    assert.deepEqual(faults, []);
  });

  test('name a file that one answers by its caption', async () => {
    const { client, email, instanceId } = await makeCompany(started.server);
    const [to, file] = ['5511987650028', new Blob(['bread'], { type: 'text/plain' })];
    await client.messages.sendDocument({ instanceId, body: { to, file, caption: 'The list' } });
    const next = `/chats?instance=${instanceId}&chat=${to}@s.whatsapp.net`;
    const page = await enterConsole(started, { next, email });
    const bubble = page.locator('[data-message]', { hasText: 'The list' });
    await bubble.getByText('Read').waitFor();
    await bubble.getByRole('button', { name: 'Actions for this message' }).click();
    await page.getByRole('menuitem', { name: 'Reply' }).click();
    await page.getByText('Reply to: The list').waitFor();
    await page.context().close();
  });

  test('offer the caption of a file to be changed, not its name', async () => {
    const { client, email, instanceId } = await makeCompany(started.server);
    const [to, file] = ['5511987650029', new Blob(['bread'], { type: 'text/plain' })];
    await client.messages.sendDocument({ instanceId, body: { to, file, file_name: 'list.txt' } });
    const next = `/chats?instance=${instanceId}&chat=${to}@s.whatsapp.net`;
    const page = await enterConsole(started, { next, email });
    const bubble = page.locator('[data-message]', { hasText: 'list.txt' });
    await bubble.getByText('Read').waitFor();
    await bubble.getByRole('button', { name: 'Actions for this message' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    assert.equal(await page.getByRole('textbox', { name: 'Change the message' }).inputValue(), '');
    await page.context().close();
  });

  test('take another answer after one that was lost', async () => {
    const { client, email, instanceId } = await makeCompany(started.server);
    const to = '5511987650030';
    await client.messages.sendText({ instanceId, body: { to, text: 'One thing' } });
    const next = `/chats?instance=${instanceId}&chat=${to}@s.whatsapp.net`;
    const page = await enterConsole(started, { next, email });
    const bubble = page.locator('[data-message]', { hasText: 'One thing' });
    await bubble.getByText('Read').waitFor();
    await page.getByRole('textbox', { name: 'Write a message' }).fill('Right');
    await page.route('**/messages/text', async (route) => {
      await passOn(route);
      await route.abort('connectionreset');
    });
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('the message cannot be sent twice').waitFor();
    await page.unroute('**/messages/text');
    await bubble.getByRole('button', { name: 'Actions for this message' }).click();
    await page.getByRole('menuitem', { name: 'Reply' }).click();
    await page.getByText('Reply to: One thing').waitFor();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Reply to: One thing').waitFor({ state: 'detached' });
    const query = { chat_jid: `${to}@s.whatsapp.net`, direction: 'outbound' } as const;
    const { data } = await client.messages.list({ instanceId, query });
    assert.ok(data[0]?.quoted_id);
    await page.context().close();
  });
});
