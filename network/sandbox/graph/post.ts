/** Posts webhooks as Meta does: signed over the bytes, again and again until they are taken, in no order. */
import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { fetch } from '@posthorn/core/platform/http/fetch.ts';
import type { OfficialNumber } from './model.ts';

/** How webhooks come. */
export interface PostingManners {
  /** Each is posted twice. */
  doubled: boolean;
  /** Those that wait go in a random order. */
  shuffled: boolean;
  /** They wait this long. */
  delayMs: number;
  /** So many values in one body. */
  perBody: number;
}

export const PLAIN: PostingManners = { doubled: false, shuffled: false, delayMs: 0, perBody: 1 };

export interface Posted {
  field: string;
  value: Record<string, unknown>;
  /** When it happened, in seconds since 1970: the same however often it is posted. */
  time?: number;
}

export interface Poster {
  manners: PostingManners;
  push(posted: Posted): void;
  /** While true nothing is posted. */
  hold(isHeld: boolean): void;
  /** Values that wait or are under way. */
  pending(): number;
  close(): void;
}

const RETRY_MS = [50, 100, 250, 500, 1_000];
const TIMEOUT_MS = 10_000;
/** Bodies under way at a time. */
const AT_ONCE = 8;

export function createPoster(number: OfficialNumber, random: () => number): Poster {
  const waiting: Posted[] = [];
  const closed = new AbortController();
  let isHeld = false;
  let isDue = false;
  let underWay = 0;
  const poster: Poster = {
    manners: { ...PLAIN },
    push(given) {
      const posted = { time: Math.floor(Date.now() / 1000), ...given };
      waiting.push(posted);
      if (poster.manners.doubled) waiting.push(posted);
      schedule();
    },
    hold(held) {
      isHeld = held;
      schedule();
    },
    pending: () => waiting.length + underWay,
    close: () => closed.abort(),
  };

  function schedule(): void {
    if (isDue || isHeld || waiting.length === 0 || closed.signal.aborted) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      work();
    }, poster.manners.delayMs).unref();
  }

  function work(): void {
    const { shuffled, perBody } = poster.manners;
    while (!isHeld && waiting.length > 0 && underWay < AT_ONCE && !closed.signal.aborted) {
      const batch: Posted[] = [];
      while (batch.length < perBody && waiting.length > 0) {
        const at = shuffled ? Math.floor(random() * waiting.length) : 0;
        batch.push(...waiting.splice(at, 1));
      }
      underWay += 1;
      void post(bodyOf(number, batch)).finally(() => {
        underWay -= 1;
        work();
      });
      // In order only one by one.
      if (!shuffled) return;
    }
  }

  async function post(body: Buffer): Promise<void> {
    for (let tries = 0; !closed.signal.aborted; tries += 1) {
      if (number.webhook && (await isTaken(number, body))) return;
      await delay(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)], undefined, {
        signal: closed.signal,
        ref: false,
      }).catch(() => undefined);
    }
  }

  return poster;
}

async function isTaken({ webhook, appSecret }: OfficialNumber, body: Buffer): Promise<boolean> {
  try {
    const response = await fetch(webhook!.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-hub-signature-256': signatureOf(appSecret, body) },
      body: new Uint8Array(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}

export function signatureOf(appSecret: string, body: Uint8Array): string {
  return `sha256=${createHmac('sha256', appSecret).update(body).digest('hex')}`;
}

export function bodyOf(number: Pick<OfficialNumber, 'businessId'>, batch: readonly Posted[]): Buffer {
  const entry = batch.map(({ field, value, time = Math.floor(Date.now() / 1000) }) => ({
    id: number.businessId,
    time,
    changes: [{ field, value }],
  }));
  return Buffer.from(escaped(JSON.stringify({ object: 'whatsapp_business_account', entry })));
}

/** Meta signs JSON in which everything beyond ASCII, slashes and at signs are escaped. */
function escaped(json: string): string {
  return json.replace(/[\u0080-\uffff@/]/g, (char) =>
    char === '/' ? '\\/' : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
