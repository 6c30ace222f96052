import { after, afterEach, before } from 'node:test';
import { openBrowser, type TestBrowser } from './browser.ts';
import { type ConsoleServer, startConsoleServer } from './console-server.ts';

/** A server and a browser for the tests of a file; both run when its first test begins. */
export function useConsole(): { readonly server: ConsoleServer; readonly browser: TestBrowser } {
  const started = {} as { server: ConsoleServer; browser: TestBrowser };
  before(async () => {
    started.server = await startConsoleServer();
    started.browser = await openBrowser(started.server.url, started.server.billingUrl);
  });
  afterEach(async (t) => {
    // The types of Node do not have it.
    const { passed } = t as unknown as { passed: boolean };
    if (!passed) console.log(await started.browser.report());
  });
  after(async () => {
    await started.browser?.close();
    await started.server?.close();
  });
  return started;
}
