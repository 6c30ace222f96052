import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import axe from 'axe-core';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { findChromium } from '../../support/chromium.ts';

/** A person at the console, with one session over all their tabs. */
export interface Visitor {
  context: BrowserContext;
  page: Page;
  /** Errors that a page threw, violations of its policy, and requests to foreign servers. */
  faults: string[];
}

export interface TestBrowser {
  visit(size?: { width: number; height: number }, locale?: string): Promise<Visitor>;
  /** The contents of each open page, and the last answers that refused something: for a test that failed. */
  report(): Promise<string>;
  closePages(): Promise<void>;
  close(): Promise<void>;
}

const REFUSED_SHOWN = 20;
const TEXT_SHOWN = 600;

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

/** A name for this machine, as in a local network: under plain http, browsers offer it less than localhost. */
export const LAN_HOST = 'lan.test';

/** For a busy machine. */
const WAIT_MAX_MS = 45_000;

export async function openBrowser(url: string, billingUrl: string): Promise<TestBrowser> {
  const browser = await chromium.launch({
    executablePath: pathOf(await findChromium()),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      // The pages of a person share a process: starting one for each takes a sixth of the browser's CPU.
      '--renderer-process-limit=1',
      `--host-resolver-rules=MAP ${LAN_HOST} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1`,
    ],
  });
  const refused: string[] = [];
  return {
    async visit(size = DESKTOP, locale = 'en-US') {
      const context = await browser.newContext({ viewport: size, locale, colorScheme: 'light' });
      context.setDefaultTimeout(WAIT_MAX_MS);
      const faults: string[] = [];
      context.on('weberror', (error) => faults.push(String(error.error())));
      context.on('request', (request) => {
        const asked = request.url();
        const isOurs = [url, billingUrl].some((own) => asked.startsWith(`${own}/`));
        if (!isOurs && !/^(data|blob):/.test(asked)) faults.push(`asked ${asked}`);
      });
      context.on('response', (answer) => {
        if (answer.status() < 400) return;
        refused.push(
          `${new Date().toISOString()} ${answer.status()} ${answer.request().method()} ${answer.url()}`,
        );
      });
      context.on('console', (message) => {
        if (/Content Security Policy/i.test(message.text())) faults.push(message.text());
      });
      context.on('dialog', (dialog) => {
        faults.push(`a dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      return { context, page: await context.newPage(), faults };
    },
    async report() {
      const pages = browser.contexts().flatMap((context) => context.pages());
      const shown = await Promise.all(
        pages.map(async (page) => {
          const text = await page.locator('body').innerText({ timeout: 2_000 }).catch(String);
          return `${page.url()} shows: ${text.slice(0, TEXT_SHOWN)}`;
        }),
      );
      return [...shown, ...refused.slice(-REFUSED_SHOWN)].join('\n');
    },
    async closePages() {
      await Promise.all(browser.contexts().map((context) => context.close()));
    },
    close: () => browser.close(),
  };
}

/** The library does not accept the bare name of a program. */
function pathOf(program: string): string {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const found = folders.map((folder) => path.join(folder, program)).find(isExecutable);
  return found ?? program;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The rules of axe that depend only on colours: the others find the same in the dark. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];
/**
 * Resolves when colours no longer change, because nobody reads changing ones; endless animations are not waited for.
 */
const SETTLED = `(async () => {
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  // The page learns of the scheme in one frame and draws it in the next.
  await frame();
  await frame();
  const ending = document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity);
  await Promise.allSettled(ending.map(({ finished }) => finished));
  await frame();
})()`;

/** The serious and critical findings of axe on a page, in the light and in the dark. */
export async function findBarriers(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.evaluate(SETTLED);
    if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axe.source);
    const only = colorScheme === 'dark' ? `, runOnly: ${JSON.stringify(OF_COLOURS)}` : '';
    const results = (await page.evaluate(`axe.run({ resultTypes: ["violations"]${only} })`)) as {
      violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
    };
    for (const { id, impact, nodes } of results.violations)
      if (impact === 'serious' || impact === 'critical')
        found.push(`${page.url()} ${colorScheme} ${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
  }
  return found;
}

/** Pixels by which a page is wider than its window. */
export async function measureOverflow(page: Page): Promise<number> {
  return (await page.evaluate(
    'Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)',
  )) as number;
}

/** Tokens in its address, or where scripts could read them and they outlive the page. */
export async function findTokens(page: Page): Promise<string[]> {
  const kept = (await page.evaluate(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])',
  )) as string;
  return kept.match(/eyJ[\w-]+\.[\w-]+|svc_[0-9a-f]{20,}|svc_refresh_token|[?&]token=/g) ?? [];
}
