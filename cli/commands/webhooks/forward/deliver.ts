import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';

/** The service's time limit for an attempt, which includes reading the answer. */
const TIMEOUT_MS = 15_000;
const FIRST_PAUSE_MS = 250;
const LAST_PAUSE_MS = 5_000;
/** The most attempts of an event whose answers are temporary failures. */
const ANSWERS_MAX = 5;

export interface Target {
  url: URL;
  /** Headers of one's own, as a webhook has them. */
  headers: Readonly<Record<string, string>>;
  /** Takes any certificate. */
  isInsecure: boolean;
}

export interface Delivered {
  status: number;
  attempts: number;
  durationMs: number;
}

/**
 * Posts until there is an answer, however long nobody listens, so that a receiver misses nothing while it restarts.
 * After an answer that the service would retry it tries again a few times; the last answer counts.
 */
export async function deliver(
  deps: { signal: AbortSignal; onSilence: (why: string) => void },
  target: Target,
  message: { body: Buffer; sign: () => Promise<Record<string, string>> },
): Promise<Delivered> {
  let answers = 0;
  let isSilent = false;
  for (let attempts = 1; ; attempts += 1) {
    const sinceMs = performance.now();
    try {
      // Signed for each attempt: a receiver refuses a signature that is minutes old.
      const status = await post(target, await message.sign(), message.body, deps.signal);
      answers += 1;
      isSilent = false;
      const delivered = { status, attempts, durationMs: Math.round(performance.now() - sinceMs) };
      if (!mayPass(status) || answers === ANSWERS_MAX) return delivered;
    } catch (error) {
      if (deps.signal.aborted) throw error;
      if (!isSilent) deps.onSilence(whyOf(error));
      isSilent = true;
    }
    await delay(Math.min(LAST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempts - 1)), undefined, deps);
  }
}

/** True for a status after which the service tries again. */
function mayPass(status: number): boolean {
  return status >= 500 || [408, 409, 425, 429].includes(status);
}

/** The status of the answer, after it was read. Rejects when there is no answer. */
function post(
  { url, headers, isInsecure }: Target,
  signed: Record<string, string>,
  body: Buffer,
  signal: AbortSignal,
): Promise<number> {
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    let lateness: Error | null = null;
    const request = send(
      url,
      {
        method: 'POST',
        signal,
        // Each attempt has its own connection: a receiver that was restarted has closed earlier ones.
        agent: false,
        rejectUnauthorized: !isInsecure,
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Posthorn-Webhooks/1',
          'accept-encoding': 'identity',
          ...headers,
          ...signed,
          'content-length': body.length,
        },
      },
      (response) => {
        const status = response.statusCode ?? 0;
        response.resume();
        // A body that breaks off changes nothing: the status decides.
        response.once('close', () => (lateness ? reject(lateness) : resolve(status)));
        response.once('error', () => undefined);
      },
    );
    const timer = setTimeout(() => {
      lateness = new Error(`no whole answer within ${TIMEOUT_MS / 1000} s`);
      request.destroy(lateness);
    }, TIMEOUT_MS);
    request.once('close', () => clearTimeout(timer));
    request.on('error', reject);
    request.end(body);
  });
}

function whyOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ECONNREFUSED') return 'connection refused';
  return code ?? message;
}
