import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { DESKTOP, findBarriers } from './support/browser.ts';
import { makeCompany } from './support/company.ts';
import { PASSWORD, signIn } from './support/person.ts';
import { useConsole } from './support/use-console.ts';

const started = useConsole();

describe('events', () => {
  test('show as they happen, continue after a pause without a gap, and are saved', async () => {
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
    await page.setViewportSize({ width: DESKTOP.width, height: 200 });
    await rows.nth(0).getByRole('link').focus();
    // The page is notified in the next frame.
    const frame = 'new Promise((resolve) => requestAnimationFrame(resolve))';
    for (let frames = 0; frames < 2; frames += 1) await page.evaluate(frame);
    const scrolledPx = await page.evaluate('scrollY');
    assert.notEqual(scrolledPx, 0);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('"three"').waitFor();
    assert.deepEqual(await findBarriers(page), []);
    await page.keyboard.press('Escape');
    await page.locator('tbody a:focus').waitFor();
    assert.equal(await page.evaluate('scrollY'), scrolledPx);
    await page.goForward();
    await page.getByRole('dialog').getByText('"three"').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.setViewportSize(DESKTOP);
    const types = page.getByRole('textbox', { name: /^Types/ });
    assert.equal(await types.inputValue(), 'text.received');
    await page.getByRole('link', { name: 'Events', exact: true }).click();
    await rows.filter({ hasText: 'instance.' }).first().waitFor();
    assert.equal(await types.inputValue(), '');
    assert.deepEqual(faults, []);
  });
});
