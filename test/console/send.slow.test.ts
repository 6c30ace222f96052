import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Request } from 'playwright-core';
import { sends } from '../../console/i18n/pt/sends.ts';
import { findBarriers } from './support/browser.ts';
import { makeCompany } from './support/company.ts';
import { passOn } from './support/pass-on.ts';
import { enterConsole, PASSWORD, signIn } from './support/person.ts';
import { useConsole } from './support/use-console.ts';

const TO = '5511987650002';
const FILE = { name: 'list.txt', mimeType: 'text/plain', buffer: Buffer.from('bread') };

const started = useConsole();

describe('the form to send', () => {
  // long: one visit, whose steps need those before them
  test('has every send of the contract, sends once however often it is tried, and schedules', async () => {
    const { server, browser } = started;
    const { client, email, instanceId } = await makeCompany(server);
    const { page, context, faults } = await browser.visit();
    await page.goto(`${server.url}/console/login`);
    await signIn(page, email, PASSWORD);
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await page.goto(`${server.url}/console/messages/new?instance=${instanceId}`);
    const kinds = page.getByLabel('What to send');
    await kinds.waitFor();
    const paths = await Promise.all(
      (await kinds.getByRole('option').all()).map((one) => one.getAttribute('value')),
    );
    assert.equal(paths.length, 23);
    assert.deepEqual(Object.keys(sends).toSorted(), paths.toSorted(), 'each has its name in Portuguese');

    const preview = page.getByRole('region', { name: 'As a phone shows it' });
    assert.match(await preview.ariaSnapshot(), /Your message shows here/);
    await kinds.selectOption('Send a list to choose from');
    const row = page.getByRole('group', { name: 'Section 1' }).getByRole('group', { name: 'Row 1' });
    await row.getByRole('textbox', { name: 'Id' }).fill('tomorrow');
    await row.getByRole('textbox', { name: 'Title' }).fill('Tomorrow');
    const list = await page.getByRole('region', { name: 'curl' }).innerText();
    const { sections } = JSON.parse(/-d '([^']+)'/.exec(list)?.[1] ?? '');
    assert.deepEqual(sections, [{ rows: [{ id: 'tomorrow', title: 'Tomorrow' }] }]);

    await kinds.selectOption('Send a poll');
    await page.getByRole('textbox', { name: 'To' }).fill(TO);
    await page.getByRole('textbox', { name: 'Question' }).fill('Which <b>bread</b>?');
    await page.getByRole('textbox', { name: 'Options' }).fill('Rye\n\nWheat\n');
    await preview.getByText('○ Wheat').waitFor();
    assert.match(await page.getByRole('region', { name: 'curl' }).innerText(), /messages\/poll/);
    assert.deepEqual(await findBarriers(page), []);

    // The first answers are lost on the way.
    let lost = 0;
    await context.route('**/messages/poll', async (route) => {
      await passOn(route);
      lost += 1;
      await route.abort('connectionreset');
    });
    await page.getByRole('button', { name: 'Send a poll' }).click();
    await page.getByText('the message cannot be sent twice').waitFor();
    await context.unroute('**/messages/poll');
    await page.getByRole('button', { name: 'Send a poll' }).click();
    await page.getByRole('link', { name: 'Open the message' }).waitFor();
    const polls = await client.messages.list({ instanceId, query: { type: 'poll' } });
    assert.ok(lost > 0);
    assert.equal(polls.data.length, 1);
    assert.deepEqual(polls.data[0]?.content.options, ['Rye', 'Wheat']);

    const sent = await context.newPage();
    await sent.goto(`${server.url}/console/instances/${instanceId}/messages/${polls.data[0]?.message_id}`);
    const curl = await sent.getByRole('region', { name: 'curl' }).innerText();
    await sent.getByRole('main').getByRole('link', { name: TO, exact: true }).waitFor();
    assert.match(curl, new RegExp(`curl ${server.url}/v1/instances/${instanceId}/messages/poll`));
    const question = 'Which <b>bread</b>?';
    const body = JSON.parse(/-d '([^']+)'/.exec(curl)?.[1] ?? '');
    assert.deepEqual(body, { to: TO, question, options: ['Rye', 'Wheat'], max_selections: 1 });
    await sent.getByRole('tab', { name: 'sdk' }).click();
    await sent.getByRole('region', { name: 'sdk' }).getByText('client.messages.sendPoll').waitFor();
    await sent.getByRole('tab', { name: 'msgctl' }).click();
    await sent.getByRole('region', { name: 'msgctl' }).getByText('send poll').waitFor();
    assert.deepEqual(await findBarriers(sent), []);
    await sent.close();

    await page.getByRole('button', { name: 'Send another' }).click();
    await kinds.selectOption('Send a text');
    await page.getByRole('textbox', { name: 'Text', exact: true }).fill('Later');
    await page.getByLabel('Send at').fill('2027-01-31T12:00');
    await page.getByRole('button', { name: 'Schedule the send' }).click();
    await page.getByRole('link', { name: 'Open the scheduled messages' }).click();
    const scheduled = page.locator('tbody tr', { hasText: TO });
    await scheduled.getByText('Scheduled').waitFor();
    assert.deepEqual(await findBarriers(page), []);
    await scheduled.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await scheduled.getByText('Cancelled').waitFor();
    await page.getByRole('tab', { name: 'Queue' }).click();
    await page.getByText('The queue is empty').waitFor();
    await page.goto(`${server.url}/console/messages?show=queue`);
    await page.getByText('The queue is empty').waitFor();
    assert.deepEqual(await findBarriers(page), []);
    assert.deepEqual(faults, []);
  });

  test('says at its field what is wrong with a scheduled send', async () => {
    const { server } = started;
    const { email, instanceId } = await makeCompany(server);
    const next = `/messages/new?instance=${instanceId}&kind=link-preview&to=${TO}`;
    const page = await enterConsole(started, { next, email });
    await page.getByRole('textbox', { name: 'Text', exact: true }).fill('We open at eight');
    await page.getByRole('textbox', { name: 'Url' }).fill('https://bread.example.test/');
    const at = page.getByLabel('Send at');
    await at.fill('2027-01-31T12:00');
    const submit = page.getByRole('button', { name: 'Schedule the send' });
    await submit.click();
    await page.locator('textarea[aria-invalid=true]').waitFor();
    await page.getByText('must contain the url', { exact: true }).waitFor();
    await page.getByRole('textbox', { name: 'Text', exact: true }).fill('See https://bread.example.test/');
    await at.fill('2026-01-31T12:00');
    await submit.click();
    await page.locator('input[type=datetime-local][aria-invalid=true]').waitFor();
    await page.getByText('must be in the future', { exact: true }).waitFor();
    await page.context().close();
  });

  test('schedules a file once however often it is tried', async () => {
    const { server } = started;
    const { client, email, instanceId } = await makeCompany(server);
    const next = `/messages/new?instance=${instanceId}&kind=document&to=${TO}`;
    const page = await enterConsole(started, { next, email });
    await page.locator('input[type=file]').setInputFiles(FILE);
    await page.getByLabel('Send at').fill('2027-01-31T12:00');
    await page.route('**/messages/scheduled', async (route) => {
      await passOn(route);
      await route.abort('connectionreset');
    });
    await page.getByRole('button', { name: 'Schedule the send' }).click();
    await page.getByText('the message cannot be sent twice').waitFor();
    await page.unroute('**/messages/scheduled');
    await page.getByRole('button', { name: 'Schedule the send' }).click();
    await page.getByRole('link', { name: 'Open the scheduled messages' }).waitFor();
    assert.equal((await client.scheduled.list({ instanceId })).data.length, 1);
    assert.equal((await client.media.list({ instanceId })).data.length, 1);
    await page.context().close();
  });

  test('keeps the lines of a vCard, and of a text above buttons', async () => {
    const { server } = started;
    const { client, email, instanceId } = await makeCompany(server);
    const next = `/messages/new?instance=${instanceId}&kind=contact&to=${TO}`;
    const page = await enterConsole(started, { next, email });
    const cards = ['Ana', 'Bia'].map((name) => `BEGIN:VCARD\nVERSION:3.0\nFN:${name}\nEND:VCARD`);
    for (const _ of cards) await page.getByRole('button', { name: 'Add one' }).click();
    for (const [at, card] of cards.entries()) {
      const group = page.getByRole('group', { name: `Contact ${at + 1}` });
      await group.getByRole('textbox', { name: 'Vcard' }).fill(card);
    }
    await page.getByRole('button', { name: 'Send contact cards' }).click();
    await page.getByRole('link', { name: 'Open the message' }).waitFor();
    const { data } = await client.messages.list({ instanceId, query: { type: 'contact' } });
    const contacts = data[0]?.content.contacts as { vcard: string }[];
    assert.deepEqual(
      contacts.map(({ vcard }) => vcard),
      cards,
    );
    await page.getByRole('button', { name: 'Send another' }).click();
    await page.getByLabel('What to send').selectOption('Send a text with a button that opens a link');
    const above = page.getByRole('textbox', { name: 'Body text' });
    await above.fill('We are open.\nOrder here:');
    assert.equal(await above.inputValue(), 'We are open.\nOrder here:');
    await page.context().close();
  });

  for (const [locale, latitude, label] of [
    ['en-US', '-23.5505', 'Send a location'],
    ['pt-BR', '-23,5505', 'Enviar uma localização'],
  ] as const)
    test(`takes degrees with decimals as one types them in ${locale}`, async () => {
      const { server, browser } = started;
      const { client, email, instanceId } = await makeCompany(server);
      const { page, context } = await browser.visit(undefined, locale);
      const next = `/messages/new?instance=${instanceId}&kind=location&to=${TO}`;
      await page.goto(`${server.url}/console/login?next=${encodeURIComponent(next)}`);
      await page.locator('input[type=email]').fill(email);
      await page.locator('input[type=password]').fill(PASSWORD);
      await page.locator('button[type=submit]').click();
      await page.getByRole('textbox', { name: 'Latitude' }).pressSequentially(latitude);
      await page.getByRole('textbox', { name: 'Longitude' }).pressSequentially('-0.05');
      assert.equal(await page.getByRole('textbox', { name: 'Latitude' }).inputValue(), latitude);
      await page.getByRole('button', { name: label }).click();
      await page.getByRole('link', { name: /^(Open the message|Abrir a mensagem)$/ }).waitFor();
      const { data } = await client.messages.list({ instanceId, query: { type: 'location' } });
      assert.deepEqual(
        data.map(({ content }) => [content.latitude, content.longitude]),
        [[-23.5505, -0.05]],
      );
      await context.close();
    });
});

describe('a large file has the time that a slow line needs', () => {
  for (const [where, next, path, button] of [
    ['in the form to send', `/messages/new?kind=document&to=${TO}`, '/messages/document', 'Send a document'],
    ['in a chat', `/chats?chat=${TO}@s.whatsapp.net`, '/messages/document', 'Send'],
    ['on the page of the media', '/messages/media?', '/media', 'Upload'],
  ] as const)
    test(where, async () => {
      const { server } = started;
      const { email, instanceId } = await makeCompany(server);
      const page = await enterConsole(started, { next: `${next}&instance=${instanceId}`, email });
      const isUpload = (request: Request) => request.method() === 'POST' && request.url().endsWith(path);
      const asked = Promise.withResolvers<void>();
      const held = Promise.withResolvers<void>();
      let uploads = 0;
      await page.route(`**${path}`, async (route) => {
        if (!isUpload(route.request())) return route.fallback();
        uploads += 1;
        asked.resolve();
        await held.promise;
        await route.continue();
      });
      const buffer = Buffer.alloc(4_000_000, 'bread ');
      await page.locator('input[type=file]').setInputFiles({ ...FILE, buffer });
      await page.clock.install();
      await page.getByRole('button', { name: button, exact: true }).click();
      await asked.promise;
      await page.clock.fastForward(120_000);
      const answer = page.waitForResponse((response) => isUpload(response.request()));
      held.resolve();
      assert.ok((await answer).ok());
      assert.equal(uploads, 1);
      await page.context().close();
    });
});
