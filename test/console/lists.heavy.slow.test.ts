/** The data of a company after a year: every list of it scrolls from its beginning to its end. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import type { Page } from 'playwright-core';
import { tellFigure } from '../support/figures.ts';
import { type Company, makeCompany } from './support/company.ts';
import { fillCompany } from './support/fill-company.ts';
import { scrollThrough, takeLongTasks, watchLongTasks } from './support/long-tasks.ts';
import { PASSWORD, signIn } from './support/person.ts';
import { useConsole } from './support/use-console.ts';

const MESSAGES = 50_000;
const CHATS = 5_000;
const DELIVERIES = 2_000;
const OF_ONE_CHAT = 1_000;
const LONG_MAX_MS = 100;
/** The heights of a table row and of a chat in its list, and the smallest height of a message. */
const ROW_PX = 35;
const CHAT_PX = 64;

const started = useConsole();
let db: Db;
let company: Company;
let webhookId: number;
let page: Page;
let faults: string[];
async function scroll(
  what: string,
  path: string,
  list: string | null,
  direction: 1 | -1 = 1,
): Promise<number> {
  await page.goto(`${started.server.url}/console/${path}`);
  await page
    .locator(list ?? 'tbody tr')
    .locator('a, [data-text]')
    .first()
    .waitFor();
  await watchLongTasks(page);
  const since = performance.now();
  const px = await scrollThrough(page, list, direction);
  const tookS = (performance.now() - since) / 1_000;
  const long = await takeLongTasks(page);
  console.log(
    `${what}: ${Math.round(px)} px in ${tookS.toFixed(1)} s, ${long.length} tasks of 50 ms and more, ` +
      `${long.filter((ms) => ms > LONG_MAX_MS).length} above ${LONG_MAX_MS} ms`,
  );
  tellFigure(`${what}: the longest task`, Math.max(0, ...long), { atMost: LONG_MAX_MS });
  return px;
}

describe('a list', () => {
  before(async () => {
    const { server, browser } = started;
    company = await makeCompany(server);
    const body = { url: 'https://hooks.example.test/', events: ['call.*' as const] };
    ({ id: webhookId } = await company.client.webhooks.create({ body }));
    db = createDb({
      url: server.databaseUrl,
      poolSize: 2,
      log: createLog({ level: 'warn', role: 'test' }),
      name: 'test',
      plans: 'indexed',
    });
    const { instanceId } = company;
    const filling = { messages: MESSAGES, chats: CHATS, deliveries: DELIVERIES, ofOneChat: OF_ONE_CHAT };
    await fillCompany(db, { instanceId, webhookId }, filling);
    ({ page, faults } = await browser.visit());
    await page.goto(`${server.url}/console/login`);
    await signIn(page, company.email, PASSWORD);
    await page.getByText('Messages of the last 24 hours').first().waitFor();
  });
  after(() => db?.close());

  test(`with ${MESSAGES} messages scrolls to its end`, async () => {
    const px = await scroll('messages', `messages?instance=${company.instanceId}`, null);
    assert.ok(px > (MESSAGES - 50) * ROW_PX, `${px} px`);
    await page.getByText(`Order ${MESSAGES} has left`).waitFor();
  });

  test(`with ${CHATS} chats scrolls to its end`, async () => {
    const px = await scroll('chats', `chats?instance=${company.instanceId}`, '.element-rows');
    assert.ok(px > (CHATS - 50) * CHAT_PX, `${px} px`);
    await page.getByText(`Contact ${CHATS}`, { exact: true }).waitFor();
  });

  test(`with ${DELIVERIES} deliveries scrolls to its end`, async () => {
    const px = await scroll('deliveries', `webhooks/${webhookId}`, null);
    assert.ok(px > (DELIVERIES - 50) * ROW_PX, `${px} px`);
  });

  test(`with the ${OF_ONE_CHAT} messages of one chat is read back to its beginning`, async () => {
    const chat = '5521000000001@s.whatsapp.net';
    await page.goto(`${started.server.url}/console/chats?instance=${company.instanceId}&chat=${chat}`);
    await page.locator('[data-text]').first().waitFor();
    await watchLongTasks(page);
    // Not by its role: the browser would work out the names of all buttons within the page, and that would be measured.
    const more = page.locator('.conversation > li:not([data-message]) button');
    for (;;) {
      await scrollThrough(page, '.conversation', -1);
      if (!(await more.isVisible())) break;
      await more.click();
      await more.locator('[data-loading]').waitFor({ state: 'detached' });
    }
    const shown = await page.locator('[data-message]').count();
    assert.ok(shown >= OF_ONE_CHAT, `${shown} messages`);
    const long = await takeLongTasks(page);
    tellFigure('one chat: the longest task', Math.max(0, ...long), { atMost: LONG_MAX_MS });
    assert.deepEqual(faults, []);
  });
});
