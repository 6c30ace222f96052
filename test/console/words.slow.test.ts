/** Words, numbers, times and directions of writing, as the person in front of the screen has them. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { CompanyUsage } from '@posthorn/sdk/index.ts';
import type { Locator, Page } from 'playwright-core';
import { fieldHints, fieldNames } from '../../console/i18n/pt/fields.ts';
import { DESKTOP, PHONE } from './support/browser.ts';
import { type Company, makeCompany } from './support/company.ts';
import { PASSWORD } from './support/person.ts';
import { useConsole } from './support/use-console.ts';

const CUSTOMER = '5511987650022';
/** Arabic, with an order number at its end. */
const ARABIC = 'صباح الخير، هل الخبز جاهز؟ order 123';
const LONG_NAME = 'محمد العربي الطويل '.repeat(8).trim();
const HOUR_MS = 3_600_000;

const started = useConsole();
let company: Company;

interface Seat {
  locale?: string;
  size?: typeof DESKTOP;
  zone?: string;
  /** Makes another one of the usage that the service tells. */
  usage?: (usage: CompanyUsage) => CompanyUsage;
}

async function enter(next: string, seat: Seat = {}): Promise<Page> {
  const { locale = 'en-US', size = DESKTOP, zone = 'UTC', usage } = seat;
  const { page, context } = await started.browser.visit(size, locale);
  const devtools = await context.newCDPSession(page);
  await devtools.send('Emulation.setTimezoneOverride', { timezoneId: zone });
  if (usage)
    await page.route('**/v1/usage', async (route) => {
      const told = (await (await route.fetch()).json()) as CompanyUsage;
      await route.fulfill({ json: usage(told) });
    });
  await page.goto(`${started.server.url}/console/login?next=${encodeURIComponent(next)}`);
  await page.locator('input[type=email]').fill(company.email);
  await page.locator('input[type=password]').fill(PASSWORD);
  await page.locator('button[type=submit]').click();
  return page;
}

/** Where the first and the last letter of a text stand. */
async function edgesOf(page: Page, selector: string): Promise<{ first: number; last: number }> {
  const edges = await page.evaluate(`(() => {
    const element = document.querySelector(${JSON.stringify(selector)});
    const text = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode();
    const left = (at) => {
      const range = document.createRange();
      range.setStart(text, at);
      range.setEnd(text, at + 1);
      return range.getBoundingClientRect().left;
    };
    return { first: left(0), last: left(text.data.length - 1) };
  })()`);
  return edges as { first: number; last: number };
}

async function pathsOf(kinds: Locator): Promise<string[]> {
  const options = await kinds.getByRole('option').all();
  return Promise.all(options.map(async (one) => (await one.getAttribute('value')) ?? ''));
}

describe('a page', () => {
  before(async () => {
    company = await makeCompany(started.server);
    const { server } = started;
    await server.sandbox('/phones', { phone: CUSTOMER, name: LONG_NAME });
    const body = { to: company.phone, type: 'text', text: ARABIC };
    await server.sandbox(`/phones/${CUSTOMER}/messages`, body);
  });

  test('in Portuguese has Portuguese words for each field of each send', async () => {
    const at = `/messages/new?instance=${company.instanceId}`;
    const page = await enter(at, { locale: 'pt-BR', size: PHONE });
    const kinds = page.getByLabel('O que enviar');
    await kinds.waitFor();
    const known = new Set(Object.values(fieldHints));
    const names = new Set(Object.values(fieldNames));
    const foreign = new Set<string>();
    for (const path of await pathsOf(kinds)) {
      await kinds.selectOption(path);
      for (const add of await page.getByRole('button', { name: 'Adicionar' }).all()) await add.click();
      const form = page.locator('form');
      const sources = form.locator('.mantine-SegmentedControl-root');
      if (await sources.isVisible()) {
        await sources.getByText('Endereço', { exact: true }).click();
        const last = sources.locator('label').last();
        const [whole, part] = [await sources.boundingBox(), await last.boundingBox()];
        assert.ok(whole && part && part.x + part.width <= whole.x + whole.width, 'the last source is whole');
      }
      for (const hint of await form.locator('.mantine-InputWrapper-description').allInnerTexts()) {
        const words = hint.replace(/\. Um por linha$/, '');
        if (!known.has(words) && !words.startsWith('No seu fuso horário')) foreign.add(`${path}: ${hint}`);
      }
      for (const label of await form.locator('label.mantine-InputWrapper-label').allInnerTexts()) {
        const words = label.replace(/\s*\*$/, '');
        if (!names.has(words) && !/^(O que enviar|Arquivo|Enviar em)$/.test(words)) foreign.add(label);
      }
    }
    assert.deepEqual([...foreign], []);
    await page.context().close();
  });

  test('writes large numbers as the language does', async () => {
    for (const [locale, words] of Object.entries({
      'en-US': ['Sent: 12,345', 'max. 12,345', '1,234 / 1,500'],
      'pt-BR': ['Enviadas: 12.345', 'máx. 12.345', '1.234 / 1.500'],
    })) {
      const page = await enter('/', {
        locale,
        usage: ({ hours, plan, ...usage }) => ({
          ...usage,
          hours: hours.map((hour, n) => ({ ...hour, sent: n === 3 ? 12_345 : 0 })),
          plan: { ...plan, users: { used: 1_234, limit: 1_500 } },
        }),
      });
      for (const text of words) await page.getByText(text).waitFor();
      await page.context().close();
    }
  });

  test('shows each hour once while the clocks are set back', async () => {
    // Summer time ends there at 06:00 UTC.
    let from = Date.parse('2026-10-31T12:00:00Z');
    const page = await enter('/', {
      zone: 'America/New_York',
      usage: ({ hours, ...usage }) => ({
        ...usage,
        hours: hours.map((hour, n) => ({ ...hour, at: new Date(from + n * HOUR_MS).toISOString() })),
      }),
    });
    const rows = page.locator('main table tbody tr');
    await rows.first().filter({ hasText: '08:00 AM' }).waitFor({ state: 'attached' });
    const hours = await rows.count();
    assert.equal(await rows.filter({ hasText: '01:00 AM' }).count(), 2);
    from += HOUR_MS;
    await company.client.instances.restart({ instanceId: company.instanceId });
    await rows.first().filter({ hasText: '09:00 AM' }).waitFor({ state: 'attached' });
    assert.equal(await rows.count(), hours);
    await page.context().close();
  });

  test('lets a text run in its own direction, and cuts it at its end', async () => {
    const chat = `${CUSTOMER}@s.whatsapp.net`;
    const page = await enter(`/chats?instance=${company.instanceId}&chat=${chat}`, { size: PHONE });
    await page.locator('[data-text]').first().waitFor();
    const text = await edgesOf(page, '[data-text]');
    assert.ok(text.last < text.first, 'the number of the order is at the left');
    const name = page.locator('.chat-header .one-line');
    const box = await name.boundingBox();
    const { first, last } = await edgesOf(page, '.chat-header .one-line');
    assert.ok(box && first > box.x && first < box.x + box.width, 'one sees where the name begins');
    assert.ok(last < box.x, 'and not where it ends');
    await page.context().close();
  });

  test('says of a scheduled message what will be sent, and exactly when', async () => {
    const { client, instanceId } = company;
    const send_at = '2027-03-14T15:30:00.000Z';
    const body = { to: CUSTOMER, text: 'We open at eight' };
    await client.scheduled.create({ instanceId, body: { type: 'text', send_at, body } });
    const zone = 'America/Sao_Paulo';
    const page = await enter(`/messages?instance=${instanceId}&show=scheduled`, { zone });
    const row = page.locator('tbody tr', { hasText: 'We open at eight' });
    await row.getByText('Mar 14, 2027, 12:30:00 PM').waitFor();
    await page.context().close();
  });

  test('calls the audience of a status by that word', async () => {
    const { client, instanceId } = company;
    await client.status.postText({ instanceId, body: { text: 'Fresh bread' } });
    const page = await enter(`/messages?instance=${instanceId}`);
    const row = page.locator('tbody tr', { hasText: 'Fresh bread' });
    await row.getByText('Sent: Status').waitFor();
    await row.getByRole('link').click();
    await page.getByRole('main').getByRole('link', { name: 'Status' }).click();
    await page.getByText('Posted here').waitFor();
    await page.context().close();
  });

  test('of the audit log keeps names whole beside long details', async () => {
    await company.client.tokens.create({ body: { name: 'W'.repeat(200) } });
    const page = await enter('/settings?tab=audit');
    const row = page.locator('tbody tr', { hasText: 'WWW' });
    const name = await row.getByRole('cell', { name: 'Ana Souza' }).boundingBox();
    assert.ok(name && name.width > 100, `${name?.width} px`);
    await page.context().close();
  });

  test('of a chat without messages says so, and has room to begin it on a phone', async () => {
    const chat = '5511987650099@s.whatsapp.net';
    const page = await enter(`/chats?instance=${company.instanceId}&chat=${chat}`, { size: PHONE });
    await page.getByText('No message yet. The first one begins the chat.').waitFor();
    await page.locator('.chat-header').getByText('5511987650099', { exact: true }).waitFor();
    const pane = await page.locator('.second-pane').boundingBox();
    const field = await page.getByRole('textbox', { name: 'Write a message' }).boundingBox();
    assert.ok(pane && field && field.width > pane.width / 2, `${field?.width} of ${pane?.width}`);
    await page.context().close();
  });
});
