/** A second click, a role that changes, a group that is looked at: what a page shows and does beyond its first use. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { type Company, makeCompany } from './support/company.ts';
import { passOn } from './support/pass-on.ts';
import { enterConsole, PASSWORD } from './support/person.ts';
import { useConsole } from './support/use-console.ts';

const CUSTOMER = '5511987650021';

const started = useConsole();
let company: Company;

const enter = (next: string, email = company.email) => enterConsole(started, { next, email });

/** The paths below `/v1` that a page posts to from now on. */
function notePosts(page: Page): string[] {
  const posts: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') posts.push(new URL(request.url()).pathname);
  });
  return posts;
}

describe('a double click', () => {
  before(async () => {
    company = await makeCompany(started.server);
  });

  test('on what a dialog asks does it once', async () => {
    const body = { url: 'https://hooks.example.test/', events: ['call.*'] } as const;
    const { id } = await company.client.webhooks.create({ body: { ...body, events: [...body.events] } });
    const page = await enter(`/webhooks/${id}`);
    const button = { name: 'Rotate the secret' };
    await page.getByRole('button', button).click();
    const posts = notePosts(page);
    await page.getByRole('dialog').getByRole('button', button).dblclick();
    await page.getByText(/^whsec_/).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(posts.filter((path) => path.endsWith('/rotate-secret')).length, 1);
    await page.context().close();
  });

  test('on an emoji reacts once', async () => {
    const { client, instanceId } = company;
    await client.messages.sendText({ instanceId, body: { to: CUSTOMER, text: 'React to this' } });
    const page = await enter(`/chats?instance=${instanceId}&chat=${CUSTOMER}@s.whatsapp.net`);
    const bubble = page.locator('[data-message]', { hasText: 'React to this' });
    await bubble.getByText('Read').waitFor();
    await bubble.getByRole('button', { name: 'Actions for this message' }).click();
    const posts = notePosts(page);
    await page.getByRole('menuitem', { name: 'React with 👍' }).dblclick();
    await bubble.getByText('👍').waitFor();
    assert.equal(posts.filter((path) => path.endsWith('/reaction')).length, 1);
    await page.context().close();
  });
});

describe('an open page', () => {
  test('of somebody whose role changes shows what the new role may see, as soon as it is refused', async () => {
    const email = `admin-${Date.now()}@example.com`;
    const body = { email, name: 'Caio', role: 'admin', password: PASSWORD } as const;
    const { id } = await company.client.users.create({ body });
    const page = await enter('/instances', email);
    await page.getByRole('link', { name: 'Balcão' }).waitFor();
    await company.client.users.update({ id, body: { role: 'agent' } });
    await page.getByRole('link', { name: 'Balcão' }).click();
    await page.getByRole('heading', { name: 'Messages', level: 1 }).waitFor();
    const entries = page.getByRole('navigation').filter({ visible: true }).getByRole('link');
    assert.deepEqual(await entries.allInnerTexts(), ['Chats', 'Messages', 'Events', 'Settings']);
    await page.context().close();
  });

  test('gives way to a sign of waiting while the code of the next one is on its way', async () => {
    const page = await enter(`/instances/${company.instanceId}`);
    await page.getByText('History').waitFor();
    const held = Promise.withResolvers<void>();
    await page.context().route('**/assets/webhooks-page-*', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('main').getByRole('status', { name: 'Loading' }).waitFor();
    assert.equal(await page.getByText('History').filter({ visible: true }).count(), 0);
    held.resolve();
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
    await page.context().close();
  });

  test('of the chats keeps what one writes while one looks at another chat', async () => {
    const { client, instanceId } = company;
    const other = '5511987650023';
    for (const to of [CUSTOMER, other])
      await client.messages.sendText({ instanceId, body: { to, text: `Hello ${to}` } });
    const page = await enter(`/chats?instance=${instanceId}&chat=${CUSTOMER}@s.whatsapp.net`);
    const field = page.getByRole('textbox', { name: 'Write a message' });
    await field.fill('Half a thought');
    await page.getByRole('link', { name: other }).click();
    await page
      .getByRole('list', { name: /Messages/ })
      .getByText(`Hello ${other}`)
      .waitFor();
    assert.equal(await field.inputValue(), '');
    await page.getByRole('link', { name: `Hello ${CUSTOMER}` }).click();
    await page
      .getByRole('list', { name: /Messages/ })
      .getByText(`Hello ${CUSTOMER}`)
      .waitFor();
    assert.equal(await field.inputValue(), 'Half a thought');
    await page.context().close();
  });

  test('of the chats has nothing left of what was sent while one looked at another chat, and sends the next', async () => {
    const { client, instanceId } = company;
    const [to, other] = ['5511987650025', '5511987650026'];
    for (const one of [to, other])
      await client.messages.sendText({ instanceId, body: { to: one, text: `Hello ${one}` } });
    const page = await enter(`/chats?instance=${instanceId}&chat=${to}@s.whatsapp.net`);
    const field = page.getByRole('textbox', { name: 'Write a message' });
    const list = page.getByRole('list', { name: /Messages/ });
    const turnTo = async (phone: string) => {
      await page.getByRole('link', { name: phone }).click();
      await list.getByText(`Hello ${phone}`).waitFor();
    };
    const hold = async () => {
      const held = Promise.withResolvers<void>();
      await page.route('**/messages/text', (route) => held.promise.then(() => route.continue()), {
        times: 1,
      });
      return held.resolve;
    };

    await list.getByText(`Hello ${to}`).waitFor();
    const letFirst = await hold();
    await field.fill('The first');
    await field.press('Enter');
    await turnTo(other);
    letFirst();
    await page.getByRole('link', { name: to }).getByText('The first').waitFor();
    await page.getByRole('link', { name: to }).click();
    await list.getByText('The first').waitFor();
    assert.equal(await field.inputValue(), '');

    const letSecond = await hold();
    await field.fill('The second');
    await field.press('Enter');
    await turnTo(other);
    await turnTo(to);
    assert.equal(await field.inputValue(), 'The second');
    await field.press('End');
    await field.pressSequentially(' and the third');
    letSecond();
    await list.getByText('The second', { exact: true }).waitFor();
    assert.equal(await field.inputValue(), 'and the third');
    await field.press('Enter');
    await list.getByText('and the third').waitFor();
    const query = { chat_jid: `${to}@s.whatsapp.net`, direction: 'outbound' } as const;
    const { data } = await client.messages.list({ instanceId, query });
    const texts = data.map(({ content }) => content.text).toReversed();
    assert.deepEqual(texts, [`Hello ${to}`, 'The first', 'The second', 'and the third']);
    await page.context().close();
  });

  test('of the chats says of a deleted message that it was deleted', async () => {
    const { client, instanceId } = company;
    const to = '5511987650024';
    const { message_id } = await client.messages.sendText({ instanceId, body: { to, text: 'Wrong one' } });
    const page = await enter(`/chats?instance=${instanceId}`);
    const row = page.getByRole('link', { name: to });
    await row.getByText('Wrong one').waitFor();
    while ((await client.messages.get({ instanceId, messageId: message_id })).status !== 'read')
      await page.waitForTimeout(50);
    await client.messages.remove({ instanceId, messageId: message_id, body: { to, message_id } });
    await row.getByText('This message was deleted.').waitFor();
    await page.context().close();
  });

  test('of the chats keeps what one turns to while something is on its way', async () => {
    const { client, instanceId } = company;
    const to = '5511987650027';
    for (const text of ['One thing', 'Another thing'])
      await client.messages.sendText({ instanceId, body: { to, text } });
    const page = await enter(`/chats?instance=${instanceId}&chat=${to}@s.whatsapp.net`);
    const list = page.getByRole('list', { name: /Messages/ });
    const bubble = (text: string) => list.locator('[data-message]', { hasText: text });
    const act = async (text: string, name: string) => {
      await bubble(text).getByText('Read').waitFor();
      await bubble(text).getByRole('button', { name: 'Actions for this message' }).click();
      await page.getByRole('menuitem', { name, exact: true }).click();
    };
    const hold = async (path: string) => {
      const held = Promise.withResolvers<void>();
      await page.route(path, (route) => held.promise.then(() => route.continue()), { times: 1 });
      return held.resolve;
    };

    const letSend = await hold('**/messages/text');
    await page.getByRole('textbox', { name: 'Write a message' }).fill('On its way');
    await page.keyboard.press('Enter');
    await act('One thing', 'Reply');
    await page.getByText('Reply to: One thing').waitFor();
    letSend();
    await bubble('On its way').getByText('Read').waitFor();
    await page.getByText('Reply to: One thing').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();

    const letEdit = await hold('**/edit');
    const field = page.getByRole('textbox', { name: 'Change the message' });
    await act('One thing', 'Edit');
    await field.fill('First thing');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await act('Another thing', 'Edit');
    await field.fill('Half a change');
    letEdit();
    await bubble('First thing').getByText('edited').waitFor();
    assert.equal(await field.inputValue(), 'Half a change');
    await page.context().close();
  });

  test('of the settings shows each as it was last changed, whichever answer comes first', async () => {
    const page = await enter(`/instances/${company.instanceId}?tab=settings`);
    const [first, second] = ['Read at once', 'Always online'].map((name) =>
      page.getByRole('switch', { name }),
    ) as [Locator, Locator];
    await first.waitFor();
    const held = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    let changes = 0;
    await page.route('**/settings', async (route) => {
      // It is not read again: the page shows what the answers to its changes said.
      if (route.request().method() === 'GET') return;
      changes += 1;
      if (changes > 1) return route.continue();
      const response = await passOn(route);
      answered.resolve();
      await held.promise;
      await route.fulfill({ response });
    });
    await first.click();
    await answered.promise;
    await second.click();
    await page.getByRole('switch', { name: 'Always online', checked: true }).waitFor();
    const late = page.waitForResponse('**/settings');
    held.resolve();
    await (await late).finished();
    await page.getByRole('tab', { name: 'Overview' }).click();
    await page.getByText('History').waitFor();
    await page.getByRole('tab', { name: 'Settings' }).click();
    await second.waitFor();
    assert.deepEqual([await first.isChecked(), await second.isChecked()], [true, true]);
    await page.context().close();
  });

  test('of the messages begins another search with another instance', async () => {
    const { id } = await company.client.instances.create({ body: { name: 'Another counter' } });
    const page = await enter(`/messages?instance=${company.instanceId}&chat=${CUSTOMER}`);
    const search = page.getByRole('searchbox', { name: 'Phone, chat or message id' });
    await search.waitFor();
    assert.equal(await search.inputValue(), CUSTOMER);
    await page.getByLabel('Instance').selectOption({ label: 'Another counter' });
    await page.getByText('There is no message yet.').waitFor();
    assert.equal(await search.inputValue(), '');
    await company.client.instances.remove({ instanceId: id });
    await page.context().close();
  });

  test('cuts a long name of the person with a sign that it is cut', async () => {
    const email = `long-${Date.now()}@example.com`;
    const name = 'Maria Aparecida '.repeat(10).trim();
    await company.client.users.create({ body: { email, name, role: 'agent', password: PASSWORD } });
    const page = await enter('/settings', email);
    await page.getByRole('button', { name: /Open the menu/ }).waitFor();
    const cut = "getComputedStyle(document.querySelector('header button .one-line')).textOverflow";
    assert.equal(await page.evaluate(cut), 'ellipsis');
    await page.context().close();
  });

  test('of a group names its people and what they are in it', async () => {
    const { server } = started;
    const group = { name: 'Deliveries', participants: [company.phone] };
    const { jid } = (await server.sandbox(`/phones/${CUSTOMER}/groups`, group)) as { jid: string };
    const page = await enter(`/chats?instance=${company.instanceId}&chat=${jid}`);
    await page.getByRole('button', { name: 'Actions for this chat' }).click();
    await page.getByRole('menuitem', { name: 'Details' }).click();
    const people = page.getByRole('dialog').getByText(`${CUSTOMER} (made the group)`);
    const lines = (await people.innerText()).split('\n');
    assert.deepEqual(lines.toSorted(), [`${CUSTOMER} (made the group)`, company.phone].toSorted());
    await page.context().close();
  });
});
