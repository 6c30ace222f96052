/**
 * The version that sessions say they are. The network refuses old ones from one day to the next, months before a new
 * library is there, and takes any that its own page names: so that page is read when a version was refused.
 */
import http from 'node:http';
import https from 'node:https';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { readAtMost } from './bounded-read.ts';

export type ClientVersion = readonly [number, number, number];

export interface ClientVersions {
  /** The newest that is known; `own` is that of the library. */
  newest(own: ClientVersion): ClientVersion;
  /**
   * Resolves to whether a newer version than `refused` is known, after reading the page of the network: one call at a
   * time reads it, once in ten minutes. Never rejects.
   */
  renew(refused: ClientVersion, route: http.Agent | undefined): Promise<boolean>;
}

/** Beside the network's WebSocket. */
const PAGE = '/sw.js';
/** The page answers browsers that open it by themselves. */
const HEADERS = {
  'sec-fetch-site': 'none',
  'user-agent':
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
};
/** The last number of the version, in JSON that may be inside a string. */
const REVISION = /\\?"client_revision\\?":\s*(\d{1,15})(?!\d)/;
const READ_MS = 15_000;
const AGAIN_MS = 10 * 60_000;
const PAGE_MAX_BYTES = 4 * 1024 * 1024;

export function createClientVersions(deps: {
  /** The network's WebSocket address. */
  url: string;
  log: Pick<Log, 'warn'>;
  nowMs(): number;
}): ClientVersions {
  const page = new URL(PAGE, deps.url.replace(/^ws/, 'http'));
  let learned: ClientVersion | null = null;
  let reading: Promise<void> | null = null;
  let readAtMs = Number.NEGATIVE_INFINITY;

  const isKnown = (refused: ClientVersion) => learned !== null && isNewer(learned, refused);

  async function read(refused: ClientVersion, route: http.Agent | undefined): Promise<void> {
    readAtMs = deps.nowMs();
    try {
      const found = REVISION.exec(await textOf(page, route));
      if (!found) throw new Error('the page names no version');
      const version = [refused[0], refused[1], Number(found[1])] as const;
      // Even if it is older than the one before: that was refused.
      learned = version;
      deps.log.warn(
        { refused: refused.join('.'), newest: version.join('.') },
        'WhatsApp refused the client version of the sessions and named this one as its newest',
      );
    } catch (err) {
      deps.log.warn({ err, refused: refused.join('.') }, 'the newest version of WhatsApp could not be read');
    }
  }

  return {
    newest: (own) => (learned && isNewer(learned, own) ? learned : own),
    async renew(refused, route) {
      if (isKnown(refused)) return true;
      if (reading === null && deps.nowMs() - readAtMs < AGAIN_MS) return false;
      reading ??= read(refused, route).finally(() => {
        reading = null;
      });
      await reading;
      return isKnown(refused);
    },
  };
}

function isNewer(one: ClientVersion, other: ClientVersion): boolean {
  const at = one.findIndex((number, nth) => number !== other[nth]);
  return at !== -1 && one[at]! > other[at]!;
}

async function textOf(page: URL, route: http.Agent | undefined): Promise<string> {
  const { request } = page.protocol === 'https:' ? https : http;
  const signal = AbortSignal.timeout(READ_MS);
  const asking = request(page, { headers: HEADERS, signal, ...(route ? { agent: route } : {}) });
  const answered = new Promise<http.IncomingMessage>((resolve, reject) => {
    asking.once('response', resolve);
    // `on`, not `once`: the connection may fail after the answer began, and again when it is closed.
    asking.on('error', reject);
  });
  asking.end();
  const response = await answered;
  try {
    if (response.statusCode !== 200) throw new Error(`the page answered ${response.statusCode}`);
    return await readAtMost(response, PAGE_MAX_BYTES, 'the page');
  } finally {
    asking.destroy();
  }
}
