import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newCpf } from '../billing/billing-harness.ts';
import { waitFor } from '../support/process.ts';
import { findBarriers, PHONE } from './support/browser.ts';
import { makeCompany } from './support/company.ts';
import { PASSWORD, signIn } from './support/person.ts';
import { useConsole } from './support/use-console.ts';

const started = useConsole();
/** Both companies have the same: its one trial goes to the first. */
const OWN_CPF = newCpf();

describe('billing', () => {
  // long: one subscription, whose steps need those before them
  test('an owner subscribes by PIX, sees the payment arrive, and cancels; a late payment shows on every page', async () => {
    const { server, browser } = started;
    const { billing, email } = await makeCompany(server);
    const { page, faults } = await browser.visit();
    const barriers: string[] = [];
    const look = async () => barriers.push(...(await findBarriers(page)));
    const open = () => page.goto(`${server.url}/console/billing`);
    await page.goto(`${server.url}/console/login`);
    await signIn(page, email, PASSWORD);
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await open();
    await page.getByLabel('Number of the document').fill('123');
    await page.getByLabel('Legal name').fill('Padaria <b>Sol</b>');
    await page.getByRole('button', { name: 'Save and choose a plan' }).click();
    await page.getByText('INVALID_DOCUMENT').waitFor();
    await look();
    await page.getByLabel('Number of the document').fill(OWN_CPF);
    await page.getByRole('button', { name: 'Save and choose a plan' }).click();
    await page.getByRole('radio', { name: 'PIX' }).check();
    await look();
    await page.getByRole('button', { name: 'Subscribe' }).click();
    await page.locator('[data-tone=busy]', { hasText: 'Trial' }).waitFor();

    await page.getByRole('img', { name: 'QR code to pay by PIX' }).waitFor();
    await look();
    const become = (status: string) =>
      waitFor(async () => (await billing.subscriptions.current()).status === status, 30_000);
    await billing.simulator.act({ body: { action: 'pay' } });
    await become('active');
    await open();
    await page.locator('[data-tone=good]', { hasText: 'Active' }).waitFor();
    await look();
    const addons = page.getByRole('button', { name: /^Add .+ \(R\$/ });
    assert.notEqual(await addons.count(), 0);
    await page.getByRole('button', { name: 'Cancel the subscription' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the subscription' }).click();
    await page.getByText('It ends with this period.').waitFor();
    assert.equal(await addons.count(), 0);
    await billing.simulator.act({ body: { action: 'overdue' } });
    await become('past_due');
    await page.goto(`${server.url}/console/messages`);
    await page.getByText('A payment is late.').waitFor();
    await page.setViewportSize(PHONE);
    await page.goto(`${server.url}/console/chats`);
    await page.getByText('A payment is late.').waitFor();
    const entries = await page.getByRole('navigation').filter({ visible: true }).boundingBox();
    const panes = await page.locator('.panes').boundingBox();
    assert.ok(
      entries && panes && panes.y + panes.height <= entries.y,
      'the banner takes room from the chats',
    );

    await open();
    const late = page.locator('[data-charge=overdue]');
    await late.waitFor();
    const invoice = page.getByRole('link', { name: 'Open the invoice' });
    const charges = await billing.charges.list({ query: { status: 'overdue' } });
    assert.equal(await invoice.getAttribute('href'), charges.data[0]?.invoice_url);
    await look();
    await billing.simulator.act({ body: { action: 'pay' } });
    await late.waitFor({ state: 'detached' });
    assert.deepEqual(barriers, []);
    assert.deepEqual(faults, []);
  });

  test('a plan without a trial awaits its first payment, and shows that until it arrives', async () => {
    const { server, browser } = started;
    const subscribed = async () => {
      const company = await makeCompany(server);
      const document = {
        document_type: 'cpf',
        document_number: OWN_CPF,
        legal_name: 'Padaria Sol',
      } as const;
      await company.billing.profile.create({ body: { ...document, email: company.email } });
      await company.billing.subscriptions.create({
        body: { plan_code: 'starter_monthly', billing_type: 'pix' },
      });
      return company;
    };
    // The trial of a document is used up by its first subscription.
    await subscribed();
    const { billing, email } = await subscribed();
    const { page, faults } = await browser.visit();
    await page.goto(`${server.url}/console/login`);
    await signIn(page, email, PASSWORD);
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await page.goto(`${server.url}/console/billing`);
    await page.locator('[data-tone=warn]', { hasText: 'Awaits payment' }).waitFor();
    await page.getByText('It begins once the open charge below is paid.').waitFor();
    assert.deepEqual(await findBarriers(page), []);

    await billing.simulator.act({ body: { action: 'pay' } });
    await page.locator('[data-tone=good]', { hasText: 'Active' }).waitFor();
    assert.equal(await page.getByText('Awaits payment').count(), 0);

    await page.getByRole('button', { name: 'Cancel the subscription' }).waitFor();
    await billing.simulator.act({ body: { action: 'chargeback' } });
    await waitFor(async () => (await billing.subscriptions.current()).status === 'suspended', 30_000);
    await page.reload();
    await page.locator('[data-tone=bad]', { hasText: 'Suspended' }).waitFor();
    // The service refuses each of them now.
    for (const name of [/^Cancel the subscription/, /^Change with/, /^Add .+ \(R\$/])
      assert.equal(await page.getByRole('button', { name }).count(), 0);
    assert.deepEqual(faults, []);
  });

  test('a subscription that is over keeps its add-ons in sight and offers to remove none', async () => {
    const { server, browser } = started;
    const { billing, email } = await makeCompany(server);
    const document = { document_type: 'cpf', document_number: newCpf(), legal_name: 'Padaria Sol' } as const;
    await billing.profile.create({ body: { ...document, email } });
    const { id } = await billing.subscriptions.create({
      body: { plan_code: 'starter_monthly', billing_type: 'pix' },
    });
    const [addon] = (await billing.catalog.listAddons()).data;
    await billing.subscriptions.addItem({ id, body: { addon_code: addon!.code, quantity: 1 } });
    const { page } = await browser.visit();
    await page.goto(`${server.url}/console/login?next=/billing`);
    await signIn(page, email, PASSWORD);
    const remove = page.getByRole('button', { name: `Remove: ${addon!.display_name}` });
    await remove.waitFor();
    await billing.subscriptions.cancel({ id, body: { at_period_end: false } });
    await page.reload();
    await page.locator('[data-tone=idle]', { hasText: 'Cancelled' }).waitFor();
    await page.getByText(`1 × ${addon!.display_name}`).waitFor();
    assert.equal(await remove.count(), 0);
    await page.context().close();
  });
});
