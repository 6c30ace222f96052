import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { findBarriers } from './support/browser.ts';
import { makeCompany } from './support/company.ts';
import { PASSWORD, signIn } from './support/person.ts';
import { useConsole } from './support/use-console.ts';

const started = useConsole();

describe('events', () => {
  test('show as they happen, go on after a pause without a gap, and are saved', async () => {
    const { server, browser } = started;
    const { email, phone } = await makeCompany(server);
    const receive = (text: string) =>
      server.sandbox('/phones/5511987650003/messages', { to: phone, type: 'text', text });
    await server.sandbox('/phones', { phone: '5511987650003', name: 'Caio' });
    const { page, faults } = await browser.visit();
    await page.goto(`${server.url}/console/login`);
    await signIn(page, email, PASSWORD);
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await page.goto(`${server.url}/console/events?types=text.received`);
    await page.getByText('There is no event yet').waitFor();
    const rows = page.locator('tbody tr');
    await receive('one <b>');
    await rows.filter({ hasText: 'one <b>' }).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await receive('two');
    await receive('three');
    await page.getByText('Paused.').waitFor();
    assert.equal(await rows.count(), 1);
    await page.getByRole('button', { name: 'Go on' }).click();
    await rows.nth(2).waitFor();
    assert.match(await rows.nth(0).innerText(), /three/);
    assert.match(await rows.nth(1).innerText(), /two/);
    assert.deepEqual(await findBarriers(page), []);
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    const saved = await readFile(await (await saving).path(), 'utf8');
    const texts = saved
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).data.content.text);
    assert.deepEqual(texts, ['one <b>', 'two', 'three']);
    await rows.nth(0).getByRole('link').click();
    await page.getByRole('dialog').getByText('"three"').waitFor();
    assert.deepEqual(await findBarriers(page), []);
    assert.deepEqual(faults, []);
  });
});
