/** Browsers whose clocks are wrong. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { type Company, makeCompany } from './support/company.ts';
import { PASSWORD, signIn } from './support/person.ts';
import { useConsole } from './support/use-console.ts';

const HOUR_MS = 3_600_000;
/** More than twice what the page waits before it asks again while there is no code; a quarter of the life of a code. */
const QUIET_MS = 5_000;
/** Events and the opening of the stream make the page ask as well, but not in every span of a minute. */
const SPANS = 12;

const started = useConsole();
let company: Company;

describe('the code to pair with', () => {
  before(async () => {
    company = await makeCompany(started.server);
  });

  for (const [clock, aheadMs] of [
    ['3 h ahead', 3 * HOUR_MS],
    ['3 h behind', -3 * HOUR_MS],
  ] as const)
    test(`lives as long as the service says, also where the clock is ${clock}`, async () => {
      const { client } = company;
      const { id } = await client.instances.create({ body: { name: `Caixa ${clock}` } });
      await client.instances.connect({ instanceId: id });
      const { page, context } = await started.browser.visit();
      await context.addInitScript(`{ const now = Date.now; Date.now = () => now() + ${aheadMs}; }`);
      let asked = 0;
      page.on('request', (request) => {
        if (request.url().endsWith(`/instances/${id}/qr`)) asked += 1;
      });
      await page.goto(`${started.server.url}/console/login?next=/instances/${id}`);
      await signIn(page, company.email, PASSWORD);
      await page.locator('[data-qr]').waitFor();
      // It may be of a code that ends right now. A page that believes its own clock never shows this.
      await waitFor(
        async () => {
          const left = Number(/\d+/.exec(await page.getByText(/^Renews in/).innerText())?.[0]);
          return left > 0 && left <= 21;
        },
        undefined,
        { what: 'the code ends within 21 s' },
      );
      const askedInSpans: number[] = [];
      while (!askedInSpans.includes(0) && askedInSpans.length < SPANS) {
        const before = asked;
        await page.waitForTimeout(QUIET_MS);
        askedInSpans.push(asked - before);
      }
      assert.ok(askedInSpans.includes(0), `asked ${askedInSpans} times`);
      await context.close();
    });
});
