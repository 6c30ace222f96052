import { after, before } from 'node:test';
import { openBrowser, type TestBrowser } from './browser.ts';
import { type ConsoleServer, startConsoleServer } from './console-server.ts';

/** A server and a browser for the tests of a file; both are there when its first test begins. */
export function useConsole(): { readonly server: ConsoleServer; readonly browser: TestBrowser } {
  const started = {} as { server: ConsoleServer; browser: TestBrowser };
  before(async () => {
    started.server = await startConsoleServer();
    started.browser = await openBrowser(started.server.url, started.server.billingUrl);
  });
  after(async () => {
    await started.browser?.close();
    await started.server?.close();
  });
  return started;
}
