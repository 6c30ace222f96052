import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createClient } from '@posthorn/sdk/index.ts';
import { waitFor } from '../support/process.ts';
import { findBarriers, findTokens } from './support/browser.ts';
import { makeCompany } from './support/company.ts';
import { PASSWORD, signIn } from './support/person.ts';
import { useConsole } from './support/use-console.ts';

const started = useConsole();

describe('settings', () => {
  // long: one visit, whose steps need those before them
  test('an owner makes and revokes a key, invites, changes a role and their e-mail, and deletes the company', async () => {
    const { server, browser } = started;
    const { client, email } = await makeCompany(server);
    const { page, faults } = await browser.visit();
    const barriers: string[] = [];
    const look = async () => barriers.push(...(await findBarriers(page)));
    await page.goto(`${server.url}/console/login`);
    await signIn(page, email, PASSWORD);
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await page.goto(`${server.url}/console/settings?tab=keys`);
    await page.getByLabel('Name').fill('<b>CI</b>');
    await page.getByRole('button', { name: 'Create the key' }).click();
    const apiKey = await page.getByText(/^svc_[0-9a-f]{64}$/).innerText();
    await look();
    await createClient({ baseUrl: server.url, apiKey }).instances.list();
    const row = page.locator('tbody tr', { hasText: '<b>CI</b>' });
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await row.waitFor({ state: 'detached' });
    await assert.rejects(async () => createClient({ baseUrl: server.url, apiKey }).instances.list());
    await page.reload();
    await page.getByRole('tab', { name: 'API keys' }).waitFor();
    assert.deepEqual(await findTokens(page), []);

    await page.getByRole('tab', { name: 'Team' }).click();
    const guest = `guest-${Date.now()}@example.com`;
    await page.getByLabel('Name').fill('Bia');
    await page.getByRole('textbox', { name: 'E-mail' }).fill(guest);
    await page.getByRole('button', { name: 'Send the invitation' }).click();
    await page.getByText(`The invitation to ${guest} is on its way.`).waitFor();
    await server.mailTo(guest, /console\/invite/);
    await page.getByRole('row', { name: /Ana Souza.*Owner/ }).waitFor();
    await page.getByLabel('Role of Bia').selectOption('Admin');
    await look();
    await page.getByRole('tab', { name: 'Audit log' }).click();
    await page.getByRole('row', { name: /token\.revoked.*Ana Souza/ }).waitFor();
    await look();
    const roleOfGuest = async () =>
      (await client.users.list()).data.find((user) => user.email === guest)?.role;
    await waitFor(async () => (await roleOfGuest()) === 'admin', undefined, {
      what: 'the guest is an admin',
    });

    await page.getByRole('tab', { name: 'Profile' }).click();
    await look();
    const next = `next-${Date.now()}@example.com`;
    const card = page.locator('section', { hasText: 'You sign in with' });
    await card.getByLabel('New e-mail').fill(next);
    await card.getByRole('textbox', { name: /Current password/ }).fill(PASSWORD);
    await card.getByRole('button', { name: 'Send a code to it' }).click();
    const code = /\b\d{6}\b/.exec((await server.mailTo(next, /\b\d{6}\b/)).text)?.[0] ?? '';
    await page.getByLabel('Code').fill(code);
    await page.getByRole('button', { name: 'Change the e-mail' }).click();
    await signIn(page, next, PASSWORD);
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    await page.goto(`${server.url}/console/settings`);
    const end = page.locator('section', { hasText: 'Delete the account' });
    await end.getByRole('textbox', { name: /Current password/ }).fill(PASSWORD);
    await end.getByLabel('Yes, delete everything').check();
    await end.getByRole('button', { name: 'Delete the company' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    assert.deepEqual(barriers, []);
    assert.deepEqual(faults, []);
  });
});
