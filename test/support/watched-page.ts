import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { openPage } from './chromium.ts';

export interface WatchedPage {
  /** Every address that the page asked for, in order. */
  requests: string[];
  /** Errors that the page wrote to the console, errors that it threw, and requests that its policy refused. */
  errors: string[];
  /** The value of an expression in the page, as JSON carries it. */
  evaluate(expression: string): Promise<unknown>;
  close(): Promise<void>;
}

interface Message {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: { result?: { value?: unknown } };
}

/** Opens a page and watches it over the protocol of the developer tools; no name but 127.0.0.1 resolves for it. */
export async function watchPage(url: string): Promise<WatchedPage> {
  const browser = await openPage('about:blank', [
    '--remote-debugging-port=0',
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    '--disable-background-networking',
    '--window-size=1600,1200',
  ]);
  try {
    return await watch(url, browser);
  } catch (err) {
    await browser.close();
    throw err;
  }
}

async function watch(url: string, browser: Awaited<ReturnType<typeof openPage>>): Promise<WatchedPage> {
  const port = await portOf(browser.profile);
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
    type: string;
    webSocketDebuggerUrl: string;
  }[];
  const page = targets.find(({ type }) => type === 'page');
  if (!page) throw new Error('the browser has no page');
  const socket = new WebSocket(page.webSocketDebuggerUrl, { perMessageDeflate: false });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));

  const requests: string[] = [];
  const errors: string[] = [];
  const waiting = new Map<number, (message: Message) => void>();
  socket.on('message', (data) => {
    const message = JSON.parse(String(data)) as Message;
    if (message.id !== undefined) waiting.get(message.id)?.(message);
    else note(message, requests, errors);
  });
  let lastId = 0;
  const send = (method: string, params: object = {}): Promise<Message> =>
    new Promise((resolve) => {
      lastId += 1;
      waiting.set(lastId, resolve);
      socket.send(JSON.stringify({ id: lastId, method, params }));
    });
  for (const domain of ['Network', 'Runtime', 'Log', 'Page']) await send(`${domain}.enable`);
  await send('Page.navigate', { url });
  return {
    requests,
    errors,
    async evaluate(expression) {
      const { result } = await send('Runtime.evaluate', {
        expression,
        returnByValue: true,
        awaitPromise: true,
      });
      return result?.result?.value;
    },
    async close() {
      socket.terminate();
      await browser.close();
    },
  };
}

function note({ method, params = {} }: Message, requests: string[], errors: string[]): void {
  if (method === 'Network.requestWillBeSent') requests.push((params.request as { url: string }).url);
  else if (method === 'Runtime.exceptionThrown') errors.push(JSON.stringify(params.exceptionDetails));
  else if (method === 'Runtime.consoleAPICalled' && params.type === 'error')
    errors.push(JSON.stringify(params.args));
  else if (method === 'Log.entryAdded' && (params.entry as { level: string }).level === 'error')
    errors.push(JSON.stringify(params.entry));
}

/** Chromium writes the port that it chose into its profile. */
async function portOf(profile: string): Promise<string> {
  for (;;) {
    try {
      const [port] = readFileSync(path.join(profile, 'DevToolsActivePort'), 'utf8').split('\n', 1);
      if (port) return port;
    } catch {
      // Not there yet.
    }
    await delay(50);
  }
}
