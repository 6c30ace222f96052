import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PosthornError } from '@posthorn/sdk/index.ts';
import { findBarriers } from './support/browser.ts';
import { makeCompany } from './support/company.ts';
import { ROOT_EMAIL } from './support/console-server.ts';
import { PASSWORD, signIn } from './support/person.ts';
import { enterAsRoot } from './support/root.ts';
import { useConsole } from './support/use-console.ts';

const started = useConsole();

describe('administration', () => {
  test('a superadmin suspends a company and takes it up again; an owner does not get there', async () => {
    const { server, browser } = started;
    const { client, email } = await makeCompany(server);
    await client.feedback.give({ body: { kind: 'idea', message: '<b>More bread</b>' } });
    await enterAsRoot(server);

    const owner = await browser.visit();
    await owner.page.goto(`${server.url}/console/login?next=/admin`);
    await signIn(owner.page, email, PASSWORD);
    await owner.page.getByRole('heading', { name: 'Home' }).waitFor();
    assert.equal(await owner.page.getByRole('link', { name: 'Administration' }).count(), 0);

    const { page, faults } = await browser.visit();
    await page.goto(`${server.url}/console/login?next=/admin`);
    await signIn(page, ROOT_EMAIL, PASSWORD);
    const row = page.locator('tbody tr', { hasText: 'Padaria' });
    await row.getByRole('button', { name: 'Suspend' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
    await row.getByRole('button', { name: 'Reactivate' }).waitFor();
    await assert.rejects(
      async () => client.instances.list(),
      (error) => error instanceof PosthornError && error.code === 'COMPANY_SUSPENDED',
    );
    assert.deepEqual(await findBarriers(page), []);
    await row.getByRole('button', { name: 'Reactivate' }).click();
    await row.getByRole('button', { name: 'Suspend' }).waitFor();
    await page.getByRole('tab', { name: 'Feedback' }).click();
    await page.getByText('<b>More bread</b>').waitFor();
    await page.getByRole('button', { name: 'Mark as done' }).click();
    await page.getByRole('button', { name: 'Open again' }).waitFor();
    assert.deepEqual(await findBarriers(page), []);
    assert.deepEqual(faults, []);
  });
});
