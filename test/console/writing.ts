import type { Page } from 'playwright-core';
import { openBrowser, type TestBrowser } from './support/browser.ts';
import { type Company, clientOf, makeCompany } from './support/company.ts';
import { type ConsoleServer, startConsoleServer } from './support/console-server.ts';
import { PASSWORD, signIn } from './support/person.ts';
import { type FrontProxy, startProxy } from './support/proxy.ts';

export const TO = '5511987650007';
export const SENDS = /\/messages\/text$/;

/** A user at the form to send, behind a proxy that can refuse, and the ways to see what became of it. */
export interface Writing {
  server: ConsoleServer;
  proxy: FrontProxy;
  browser: TestBrowser;
  company: Company;
  /** Signs in and writes; `keys` are those of the requests that send. */
  beginToWrite(text: string, password?: string): Promise<{ page: Page; keys: string[] }>;
  /** How many messages have this text. */
  sentWith(text: string, password?: string): Promise<number>;
  close(): Promise<void>;
}

export async function startWriting(): Promise<Writing> {
  const server = await startConsoleServer();
  const proxy = await startProxy(server.url);
  const browser = await openBrowser(proxy.url, server.billingUrl);
  const company = await makeCompany(server);
  return {
    server,
    proxy,
    browser,
    company,
    async beginToWrite(text, password = PASSWORD) {
      const { page, context } = await browser.visit();
      const keys: string[] = [];
      context.on('request', (request) => {
        if (SENDS.test(request.url())) keys.push(request.headers()['idempotency-key'] ?? '');
      });
      await page.goto(`${proxy.url}/console/login?next=${encodeURIComponent('/messages/new')}`);
      await signIn(page, company.email, password);
      await page.getByRole('textbox', { name: 'To' }).fill(TO);
      await page.getByRole('textbox', { name: 'Text', exact: true }).fill(text);
      await page.getByText('Live', { exact: true }).waitFor();
      return { page, keys };
    },
    async sentWith(text, password = PASSWORD) {
      const { client } = await clientOf(server, company.email, password);
      const query = { direction: 'outbound', type: 'text', limit: 100 } as const;
      const { data } = await client.messages.list({ instanceId: company.instanceId, query });
      return data.filter(({ content }) => content.text === text).length;
    },
    async close() {
      await browser.close();
      proxy.close();
      await server.close();
    },
  };
}

export const send = (page: Page) => page.getByRole('button', { name: 'Send a text' }).click();
export const isAccepted = (page: Page) => page.getByRole('link', { name: 'Open the message' }).waitFor();
export const isOver = (page: Page, trouble: string) => page.getByText(trouble).waitFor({ state: 'detached' });
