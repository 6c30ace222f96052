import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PLAYGROUND_INSTANCE_ID } from '@posthorn/core/playground/shared-instance.ts';
import { waitFor } from '../support/process.ts';
import { findBarriers, findTokens } from './support/browser.ts';
import { makeCompany, pair } from './support/company.ts';
import { PASSWORD, signIn } from './support/person.ts';
import { enterAsRoot } from './support/root.ts';
import { useConsole } from './support/use-console.ts';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const FILE = { name: '<b>bread.png', mimeType: 'image/png', buffer: Buffer.from(PNG, 'base64') };
const FRIEND = '5511987650004';

const started = useConsole();

describe('below the messages', () => {
  // long: one visit, whose steps need those before them
  test('one stores a file, sends and deletes it, posts a status, sees who saw it, looks at a catalog, finds their token in the reference, and plays', async () => {
    const { server, browser } = started;
    const { client, email, instanceId, phone } = await makeCompany(server);
    const { page, context, faults } = await browser.visit();
    const barriers: string[] = [];
    const look = async () => barriers.push(...(await findBarriers(page)));
    await page.goto(`${server.url}/console/login?next=/messages/media`);
    await signIn(page, email, PASSWORD);

    await page.getByText('No file of this kind is stored.').waitFor();
    await page.locator('input[type=file]').setInputFiles(FILE);
    await page.getByRole('button', { name: 'Upload', exact: true }).click();
    const file = page.getByRole('article').filter({ hasText: FILE.name });
    await file.getByRole('img', { name: FILE.name }).waitFor();
    await look();
    await file.getByRole('link', { name: 'Send it' }).click();
    await page.getByRole('textbox', { name: 'To' }).fill(FRIEND);
    await page.getByRole('button', { name: 'Send an image' }).click();
    await page.getByRole('link', { name: 'Open the message' }).click();
    await page.locator('[data-moment=sent]').waitFor();
    const media = await client.media.list({ instanceId });
    const sent = await client.messages.list({ instanceId, query: { type: 'image' } });
    assert.deepEqual(
      sent.data.map(({ media_id: id }) => id),
      media.data.map(({ id }) => id),
    );
    await page.goto(`${server.url}/console/messages/media`);
    await file.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No file of this kind is stored.').waitFor();

    await page.getByRole('tab', { name: 'Status' }).click();
    await page.getByText('Post the first one.').waitFor();
    await page.getByRole('link', { name: 'Post a status' }).click();
    const kinds = page.getByLabel('What to send');
    await kinds.waitFor();
    assert.deepEqual(await kinds.getByRole('option').allInnerTexts(), [
      'Post a text status',
      'Post an image status',
      'Post a video status',
      'Post an audio status',
    ]);
    await page.getByRole('textbox', { name: 'Text', exact: true }).fill('Fresh <b>rye</b> today');
    await look();
    await page.getByRole('button', { name: 'Post a text status' }).click();
    await page.getByRole('link', { name: 'See the statuses' }).click();
    const status = page.getByRole('article').filter({ hasText: 'Fresh <b>rye</b> today' });
    await status.getByRole('button', { name: 'Who saw it' }).click();
    await status.getByText('Seen by 0 people').waitFor();
    await look();

    await page.getByRole('tab', { name: 'Catalog' }).click();
    await page.getByText('This account shows no products.').waitFor();
    const products = [{ id: 'p1', name: 'Rye <b>', price: 1250, currency: 'BRL', image_base64: PNG }];
    await server.sandbox(`/phones/${phone}/business`, { products });
    await page.reload();
    const product = page.getByRole('article').filter({ hasText: 'Rye <b>' });
    await product.getByText('R$12.50').waitFor();
    await product.getByRole('img', { name: 'Rye <b>' }).waitFor();
    await look();

    await page.getByRole('button', { name: /Open the menu/ }).click();
    await page.getByRole('menuitemradio', { name: 'English', checked: true }).waitFor();
    await look();
    const opening = context.waitForEvent('page');
    await page.getByRole('menuitem', { name: 'API reference' }).click();
    const docs = await opening;
    const filled = `[...document.querySelectorAll('input')].map(({ value }) => value).find((value) => /^eyJ/.test(value))`;
    const token = await waitFor(() => docs.evaluate(filled), 60_000);
    const headers = { authorization: `Bearer ${token}` };
    assert.equal((await fetch(`${server.url}/v1/instances`, { headers })).status, 200);
    assert.deepEqual(await findTokens(docs), []);
    await page.reload();
    await product.waitFor();

    await page.getByRole('button', { name: /Open the menu/ }).click();
    await page.getByRole('menuitem', { name: 'Playground' }).click();
    await page.getByText('50 of 50 sends are left today.').waitFor();
    await page.getByRole('textbox', { name: 'Text', exact: true }).fill('Is <b>anybody</b> there?');
    await page.getByRole('button', { name: 'Send a text' }).click();
    await pair(server, await enterAsRoot(server), PLAYGROUND_INSTANCE_ID);
    const simulated = page.getByRole('region', { name: 'Simulated phone' });
    await simulated.locator('[data-arrived=true]').getByText('Is <b>anybody</b> there?').waitFor();
    await simulated.getByText('Read').waitFor();
    await page.getByText('49 of 50 sends are left today.').waitFor();
    await look();
    assert.deepEqual(barriers, []);
    assert.deepEqual(faults, []);
  });
});
