/** Later pages of long lists that come when the list, or the user, is no longer the same. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { type Company, makeCompany } from './support/company.ts';
import { enterConsole, PASSWORD, signIn } from './support/person.ts';
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
