import type { Client, Instance, Webhook } from '@posthorn/sdk/index.ts';
import { PosthornError } from '@posthorn/sdk/index.ts';
import type { Context } from '../../context.ts';
import { EXIT } from '../../fault.ts';
import { VERSION } from '../../version.ts';
import { type Finding, failure, failureOf, ok, warning } from './finding.ts';

/** Receivers refuse webhooks if their clock is off by more than this. */
const SKEW_ERROR_S = 300;
const SKEW_WARNING_S = 30;
const STREAM_WAIT_MS = 10_000;
const SHOWN_MAX = 10;

/** Checks that the service answers and is ready, and that its clock and version fit ours. */
export async function checkService({ url, anonymous, signal }: Context): Promise<Finding[]> {
  const client = anonymous();
  let date: string | null = null;
  const sinceMs = performance.now();
  try {
    const onResponse = ({ headers }: { headers: Headers }) => {
      date = headers.get('date');
    };
    await client.health.health({}, { retries: 0, signal, onResponse });
  } catch (error) {
    return [failureOf('service', error)];
  }
  const tookMs = performance.now() - sinceMs;
  return [
    ok('service', `${url} answers in ${Math.round(tookMs)} ms`),
    await checkReadiness(client),
    ...checkClock(date, Date.now()),
    await checkVersion(client),
  ];
}

async function checkReadiness(client: Client): Promise<Finding> {
  try {
    await client.health.ready({}, { retries: 0 });
    return ok('ready', 'it can serve');
  } catch (error) {
    const checks = error instanceof PosthornError ? error.fields.checks : undefined;
    if (typeof checks !== 'object' || checks === null) return failureOf('ready', error);
    const wrong = Object.entries(checks).filter(([, state]) => !/^ok\b/.test(state));
    const says = wrong.map(([name, state]) => `${name}: ${state}`).join(', ');
    return failure('ready', says, 'start what is missing, and look at its settings', EXIT.later);
  }
}

/** Compares our clock with the Date header, which has a precision of a second. */
export function checkClock(date: string | null, nowMs: number): Finding[] {
  const atMs = Date.parse(date ?? '');
  if (Number.isNaN(atMs)) return [];
  const skewS = Math.round((nowMs - atMs) / 1000);
  const says = `this machine is ${Math.abs(skewS)} s ${skewS < 0 ? 'behind' : 'ahead of'} the service`;
  const todo = 'set the clock of one of them by NTP: signatures of webhooks hold for five minutes';
  if (Math.abs(skewS) > SKEW_ERROR_S) return [failure('clock', says, todo)];
  if (Math.abs(skewS) > SKEW_WARNING_S) return [warning('clock', says, todo)];
  return [ok('clock', 'the same here and there')];
}

async function checkVersion(client: Client): Promise<Finding> {
  try {
    const document = await client.request<{ info?: { version?: string } }>({ path: '/openapi.json' });
    const theirs = document.info?.version ?? '';
    const says = `msgctl ${VERSION}, service ${theirs}`;
    const lineOf = (version: string) => version.split('.').slice(0, 2).join('.');
    if (lineOf(theirs) === lineOf(VERSION)) return ok('version', says);
    return warning('version', says, 'install the msgctl that came with the service');
  } catch (error) {
    return { ...failureOf('version', error), level: 'warning' };
  }
}

/** Checks that the credentials are valid. The client is null without any. */
export async function checkKey(context: Context): Promise<{ findings: Finding[]; client: Client | null }> {
  const { profile, signal } = context;
  try {
    const client = context.client();
    await client.events.list({ query: { limit: 1 } }, { signal });
    return { findings: [ok('key', `it is accepted (profile ${profile.name})`)], client };
  } catch (error) {
    return { findings: [withoutKey(error) ?? failureOf('key', error)], client: null };
  }
}

function withoutKey(error: unknown): Finding | null {
  if (error instanceof PosthornError || !(error instanceof Error)) return null;
  return failure('key', error.message, 'msgctl quick-register, msgctl login, or --key', EXIT.denied);
}

const TODO_OF_STATE: Readonly<Record<string, string>> = {
  CREATED: 'msgctl instances connect --wait',
  PAIRING: 'msgctl pair, or msgctl instances qr --watch',
  DISCONNECTED: 'msgctl instances connect --wait',
  HARD_PAUSED: 'the network throttles the account: send less, and connect it later',
  BANNED: 'the network has banned the account: log it out, and pair another number',
};

export async function checkInstances(client: Client): Promise<Finding[]> {
  let all: Instance[];
  try {
    all = (await client.instances.list({ query: { limit: 200 } })).data;
  } catch (error) {
    return [failureOf('instances', error)];
  }
  if (all.length === 0)
    return [warning('instances', 'there is none', 'msgctl instances create <name> --wait')];
  const connected = all.filter(({ state }) => state === 'CONNECTED');
  const others = all.filter(({ state }) => state !== 'CONNECTED');
  return [
    ...(connected.length > 0 ? [ok('instances', `${connected.length} of ${all.length} are CONNECTED`)] : []),
    ...others.slice(0, SHOWN_MAX).map(({ name, state, last_error }) => {
      const says = `${name} is ${state}${last_error ? ` (${last_error})` : ''}`;
      const tell = ['HARD_PAUSED', 'BANNED'].includes(state) ? failure : warning;
      return tell('instances', says, TODO_OF_STATE[state] ?? '');
    }),
    ...(others.length > SHOWN_MAX
      ? [warning('instances', `${others.length - SHOWN_MAX} more`, 'msgctl instances list')]
      : []),
  ];
}

/** Reports webhooks that are disabled, and those with failed deliveries in the last day. */
export async function checkWebhooks(client: Client): Promise<Finding[]> {
  try {
    const [{ data }, metrics] = await Promise.all([
      client.webhooks.list({ query: { limit: 200 } }),
      client.deliveries.metrics({}),
    ]);
    if (data.length === 0) return [ok('webhooks', 'there is none')];
    const off = data.filter(({ enabled }) => !enabled);
    const failing = metrics.webhooks.filter(({ failures }) => failures > 0);
    const findings = [
      ...off.map(disabled),
      ...failing.map(({ webhook_id, url, failures, total, successes }) => {
        const tell = successes === 0 ? failure : warning;
        const says = `${webhook_id} (${url}) failed ${failures} of ${total} times in 24 hours`;
        return tell('webhooks', says, `msgctl webhooks logs ${webhook_id}, msgctl deliveries watch`);
      }),
    ].slice(0, SHOWN_MAX);
    return findings.length > 0
      ? findings
      : [ok('webhooks', `${data.length}, none of which failed in 24 hours`)];
  } catch (error) {
    // A role that may not see webhooks need not look after them.
    const denied = error instanceof PosthornError && error.status === 403;
    return denied ? [] : [failureOf('webhooks', error)];
  }
}

function disabled({ id, url, disabled_reason }: Webhook): Finding {
  const why = disabled_reason ? ` (${disabled_reason})` : '';
  return warning('webhooks', `${id} (${url}) is switched off${why}`, `msgctl webhooks update ${id} --enable`);
}

/** Checks that the event stream opens: a proxy that buffers answers prevents it. */
export async function checkStream(client: Client, signal: AbortSignal): Promise<Finding> {
  const ending = new AbortController();
  const end = () => ending.abort();
  const timer = setTimeout(end, STREAM_WAIT_MS);
  signal.addEventListener('abort', end, { once: true });
  let isOpen = false;
  try {
    const onOpen = () => {
      isOpen = true;
      end();
    };
    for await (const _ of client.events.stream({ signal: ending.signal, onOpen })) break;
    if (isOpen) return ok('stream', 'it opens');
    const todo = 'a proxy holds it back: switch off its buffering for /v1/events';
    return failure('stream', `it did not open within ${STREAM_WAIT_MS / 1000} s`, todo);
  } catch (error) {
    return failureOf('stream', error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}
