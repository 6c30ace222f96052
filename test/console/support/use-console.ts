import { after, afterEach, before } from 'node:test';
import { keepInGroup } from '../../support/keep-in-group.ts';
import { openBrowser, type TestBrowser } from './browser.ts';
import { type ConsoleServer, startConsoleServer } from './console-server.ts';

interface Started {
  server: ConsoleServer;
  browser: TestBrowser;
}

/**
 * A server and a browser for the tests of a file; both run when its first test begins. Files of one process use the same,
 * one after another, so each makes companies and customers of its own; `isNew` gives a file a server that nobody has used.
 */
export function useConsole({ isNew = false } = {}): Readonly<Started> {
  const started = {} as Started;
  let release: (() => Promise<void>) | undefined;
  before(async () => {
    const { thing, release: leave } = isNew ? await ownConsole() : await keepInGroup('console', startConsole);
    release = leave;
    Object.assign(started, thing);
  });
  afterEach(async (t) => {
    // The types of Node do not have it.
    const { passed } = t as unknown as { passed: boolean };
    if (!passed) console.log(await started.browser.report());
  });
  after(async () => {
    await started.browser?.closePages();
    await release?.();
  });
  return started;
}

async function ownConsole() {
  const thing = await startConsole();
  return { thing, release: () => thing.close() };
}

async function startConsole(): Promise<Started & { close(): Promise<void> }> {
  const server = await startConsoleServer();
  const browser = await openBrowser(server.url, server.billingUrl).catch(async (err) => {
    await server.close();
    throw err;
  });
  return {
    server,
    browser,
    async close() {
      await browser.close();
      await server.close();
    },
  };
}
