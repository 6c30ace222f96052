/** Later pages of long lists that come when the list, or the user, is no longer the same. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { waitFor } from '../support/process.ts';
import { type Company, makeCompany } from './support/company.ts';
import { ROOT_EMAIL } from './support/console-server.ts';
import { enterConsole, PASSWORD, signIn } from './support/person.ts';
import { enterAsRoot } from './support/root.ts';
import { useConsole } from './support/use-console.ts';

const ROWS = 50;
const AUDIT = /\/v1\/audit\?/;
const MESSAGES = /\/messages\?/;

const started = useConsole();
let company: Company;

/** The rows of a page of the audit log, as the service would tell them of another one. */
async function answerAudit(route: Route, action: string, until?: Promise<void>): Promise<void> {
  const answer = await route.fetch();
  const { data } = (await answer.json()) as { data: { id: number }[] };
  const before = Number(new URL(route.request().url()).searchParams.get('before') ?? 1_000);
  const rows = Array.from({ length: ROWS }, (_, nth) => ({ ...data[0], id: before - nth - 1, action }));
  await until;
  await route.fulfill({ json: { data: rows, next_before: before - ROWS } });
}

const isLater = (route: Route) => new URL(route.request().url()).searchParams.has('before');
const loadMore = (page: Page) => page.getByRole('button', { name: 'Load more' }).click();

describe('a later page of a list', () => {
  before(async () => {
    company = await makeCompany(started.server);
  });

  test('is not shown to the next user if it comes after a sign-out', async () => {
    const other = await makeCompany(started.server);
    const page = await enterConsole(started, { next: '/settings?tab=keys', email: company.email });
    const held = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const told = Promise.withResolvers<void>();
    await page.route(AUDIT, async (route) => {
      if (!isLater(route)) return answerAudit(route, 'mine.only');
      asked.resolve();
      await answerAudit(route, 'mine.only', held.promise);
      told.resolve();
    });
    await page.getByRole('tab', { name: 'Audit log' }).click();
    await page.getByText('mine.only').first().waitFor();
    await loadMore(page);
    await asked.promise;
    await page.getByRole('button', { name: /Open the menu/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out in all tabs' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    held.resolve();
    await told.promise;
    await page.unroute(AUDIT);
    await page.route(AUDIT, () => undefined);
    await signIn(page, other.email, PASSWORD);
    await page.getByText('First steps').waitFor();
    await page.evaluate(`history.pushState({}, '', '/console/settings?tab=audit')`);
    await page.getByRole('tabpanel').getByRole('status', { name: 'Loading' }).waitFor();
    assert.equal(await page.getByText('mine.only').count(), 0);
    await page.context().close();
  });

  test('leaves no gap if the list was started again meanwhile', async () => {
    const { client, instanceId } = company;
    const sent = { instanceId, body: { to: '5511987650071', text: 'First' } };
    await client.messages.sendText(sent);
    const { data } = await client.messages.list({ instanceId });
    const page = await enterConsole(started, { next: '/instances', email: company.email });
    await page.getByRole('link', { name: 'Balcão' }).waitFor();
    const held = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    let newest = 100;
    await page.route(MESSAGES, async (route) => {
      const before = new URL(route.request().url()).searchParams.get('before');
      if (before === '50') {
        asked.resolve();
        await held.promise;
      }
      const from = Number(before ?? newest);
      const rows = Array.from({ length: ROWS }, (_, nth) => ({
        ...data[0],
        message_id: `order-${from - nth}`,
        content: { text: `Order ${from - nth} is ready` },
      }));
      const next = from > ROWS ? String(from - ROWS) : null;
      await route.fulfill({ json: { data: rows, next_cursor: next, has_more: next !== null } });
    });
    await page.evaluate(`history.pushState({}, '', '/console/messages?instance=${instanceId}')`);
    await page.getByText('Order 100 is ready').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await loadMore(page);
    await asked.promise;
    newest = 300;
    await client.messages.sendText(sent);
    await page
      .getByText(/^Order 2\d\d is ready/)
      .first()
      .waitFor();
    held.resolve();
    await page.getByText('Order 250 is ready').waitFor();
    await page.context().close();
  });

  test('that has nothing ends the list, also where the service counts no further', async () => {
    const body = { url: 'http://127.0.0.1:9/hook', events: ['call.*' as const] };
    const { id } = await company.client.webhooks.create({ body });
    const rows = Array.from({ length: ROWS }, (_, nth) => ({
      ...{ id: 1_000 - nth, webhook_id: id, webhook_url: body.url, event_id: `event-${nth}`, attempt: 1 },
      ...{ event_type: 'call.received', success: true, status_code: 200, error_class: '', response: '' },
      ...{ payload: '', created_at: '2026-01-31T12:00:00.000Z' },
    }));
    const page = await enterConsole(started, { next: '/instances', email: company.email });
    await page.getByRole('link', { name: 'Balcão' }).waitFor();
    let later = 0;
    await page.route(/\/logs\?/, (route) => {
      const asked = Number(new URL(route.request().url()).searchParams.get('page'));
      if (asked > 1) later += 1;
      const data = asked > 1 ? [] : rows;
      return route.fulfill({ json: { data, total: 10_000, total_capped: true, page: asked, limit: ROWS } });
    });
    await page.evaluate(`history.pushState({}, '', '/console/webhooks/${id}')`);
    const more = page.getByRole('button', { name: 'Load more' });
    await more.scrollIntoViewIfNeeded();
    await more.waitFor({ state: 'detached' });
    assert.equal(later, 1);
    await page.context().close();
  });

  test('shows what an action has made of its row', async () => {
    const { server } = started;
    await enterAsRoot(server);
    const page = await enterConsole(started, { next: '/instances', email: ROOT_EMAIL });
    await page.getByRole('heading', { name: 'Instances', level: 1 }).waitFor();
    const companies = Array.from({ length: 2 * ROWS }, (_, nth) => ({
      ...{ id: 90_000 + nth, name: `Shop ${nth}.`, slug: `shop-${nth}`, status: 'active', users: 1 },
      ...{ instances: 0, created_at: '2026-01-31T12:00:00.000Z', deleted_at: null },
    }));
    await page.route(/\/v1\/admin\/companies\?/, (route) => {
      const asked = Number(new URL(route.request().url()).searchParams.get('page'));
      const data = companies.slice((asked - 1) * ROWS, asked * ROWS);
      return route.fulfill({ json: { data, total: companies.length, page: asked, limit: ROWS } });
    });
    await page.route(/\/v1\/admin\/companies\/\d+\/suspend/, (route) => {
      const [, id] = /(\d+)\/suspend/.exec(route.request().url()) ?? [];
      const company = companies.find((one) => String(one.id) === id)!;
      company.status = 'suspended';
      return route.fulfill({ json: company });
    });
    await page.getByRole('link', { name: 'Administration' }).click();
    await page.getByText('Shop 0.').waitFor();
    await loadMore(page);
    const row = page.locator('tbody tr', { hasText: 'Shop 51.' });
    await row.getByRole('button', { name: 'Suspend' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
    await row.getByRole('button', { name: 'Reactivate' }).waitFor();
    await page.context().close();
  });

  test('shows that a send was cancelled', async () => {
    const { client, instanceId } = company;
    const body = {
      type: 'text',
      send_at: '2027-01-31T12:00:00Z',
      body: { to: '5511987650073', text: 'Soon' },
    };
    await client.scheduled.create({ instanceId, body: body as never });
    const [made] = (await client.scheduled.list({ instanceId })).data;
    const sends = Array.from({ length: 2 * ROWS }, (_, nth) => ({
      ...made!,
      id: `01a0aaaa-0000-7000-8000-0000000000${String(nth).padStart(2, '0')}`,
      body: { to: `55119876502${String(nth).padStart(2, '0')}`, text: 'Soon' },
    }));
    const page = await enterConsole(started, { next: '/instances', email: company.email });
    await page.getByRole('link', { name: 'Balcão' }).waitFor();
    await page.route(/\/messages\/scheduled[/?]/, (route) => {
      const url = new URL(route.request().url());
      if (route.request().method() === 'DELETE') {
        sends.find(({ id }) => url.pathname.endsWith(`/${id}`))!.status = 'cancelled';
        return route.fulfill({ status: 204 });
      }
      const asked = Number(url.searchParams.get('page'));
      const data = sends.slice((asked - 1) * ROWS, asked * ROWS);
      return route.fulfill({ json: { data, total: sends.length, page: asked, limit: ROWS } });
    });
    await page.evaluate(
      `history.pushState({}, '', '/console/messages?instance=${instanceId}&show=scheduled')`,
    );
    await page.getByText('5511987650200').waitFor();
    await page.getByRole('button', { name: 'Load more' }).scrollIntoViewIfNeeded();
    const row = page.locator('tbody tr', { hasText: '5511987650251' });
    await row.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await row.getByText('Cancelled').waitFor();
    await page.context().close();
  });

  test('gives up a chat that was archived', async () => {
    const { client, instanceId } = company;
    await client.messages.sendText({ instanceId, body: { to: '5511987650072', text: 'Hello' } });
    const made = await waitFor(async () => (await client.chats.list({ instanceId })).data[0]);
    const chats = Array.from({ length: 2 * ROWS }, (_, nth) => ({
      ...made,
      chat_jid: `55119876501${String(nth).padStart(2, '0')}@s.whatsapp.net`,
      name: `Shop ${nth}.`,
    }));
    const page = await enterConsole(started, { next: '/instances', email: company.email });
    await page.getByRole('link', { name: 'Balcão' }).waitFor();
    await page.route(/\/chats\?/, (route) => {
      const asked = new URL(route.request().url()).searchParams;
      const from = Number(asked.get('before') ?? 0);
      const known = chats.filter(({ archived }) => String(archived) === asked.get('archived'));
      const next = from + ROWS < known.length ? String(from + ROWS) : null;
      return route.fulfill({ json: { data: known.slice(from, from + ROWS), next_cursor: next } });
    });
    await page.route(/\/chats\/[^?]+$/, (route) => {
      const chat = chats.find(({ chat_jid: id }) => decodeURIComponent(route.request().url()).includes(id))!;
      if (route.request().url().endsWith('/archive')) chat.archived = true;
      return route.fulfill({ json: chat });
    });
    const list = page.getByRole('list', { name: 'Chats' });
    await page.evaluate(`history.pushState({}, '', '/console/chats?instance=${instanceId}')`);
    await list.getByText('Shop 0.').waitFor();
    // The end of the first page is in sight, and so is the beginning of the second one once it is there.
    await page.evaluate(`(() => {
      const element = document.querySelector('.element-rows');
      element.scrollTop = element.scrollHeight;
    })()`);
    await list.getByText(`Shop ${ROWS}.`).waitFor();
    await list.getByText('Shop 48.').click();
    await page.getByRole('button', { name: 'Actions for this chat' }).click();
    await page.getByRole('menuitem', { name: 'Archive' }).click();
    await list.getByText('Shop 48.').waitFor({ state: 'detached' });
    await list.getByText('Shop 49.').waitFor();
    await page.context().close();
  });

  test('that is refused because the session is over leads to the sign-in', async () => {
    const { client, email } = await makeCompany(started.server);
    const page = await enterConsole(started, { next: '/settings?tab=keys', email });
    // The stream of events would hear of it first.
    await page.route('**/v1/events/stream*', () => undefined);
    await page.route(AUDIT, (route) => answerAudit(route, 'mine.only'));
    await page.getByRole('tab', { name: 'Audit log' }).click();
    await page.getByText('mine.only').first().waitFor();
    await page.unroute(AUDIT);
    const body = { current_password: PASSWORD, new_password: 'another horse battery' };
    await client.auth.changePassword({ body });
    await loadMore(page);
    await page.getByText('Your session has ended. Sign in to go on.').waitFor();
    await page.context().close();
  });
});
