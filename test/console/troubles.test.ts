/** The service refuses for a while, while a page is open. `troubles.slow.test.ts` has what else may happen to it. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isAccepted, isOver, send, startWriting, type Writing } from './writing.ts';

const LIMITED = 'Too many requests from your company. The page goes on by itself within a minute.';

let writing: Writing;
before(async () => {
  writing = await startWriting();
});
after(() => writing?.close());

describe('an open page', () => {
  test('that is refused with 429 says so, and sends by itself when it may', async () => {
    const { page, keys } = await writing.beginToWrite('over a 429');
    writing.proxy.answer(429, { 'retry-after': '3' });
    await send(page);
    await page.getByText(LIMITED).waitFor();
    writing.proxy.answer(null);
    await isAccepted(page);
    await isOver(page, LIMITED);
    assert.equal(new Set(keys).size, 1);
    assert.equal(await writing.sentWith('over a 429'), 1);
    await page.context().close();
  });
});
