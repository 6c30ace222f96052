import { setTimeout as delay } from 'node:timers/promises';
import { type Outbound, OutboundError } from '@posthorn/core/platform/http/outbound-http.ts';
import { timeOfId } from '@posthorn/core/platform/ids.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import { createRoster, type Roster } from '@posthorn/core/platform/process/roster.ts';
import type { Trace } from '@posthorn/core/platform/tracing/trace.ts';
import type { WorkCounts } from '../count-work.ts';
import { judgeAges, nextOf, planBegin, resultOf } from './attempt-decisions.ts';
import { noteAttempt } from './catch-up.ts';
import type { EndpointConfig } from './endpoint-config.ts';
import { classOfEndpoint, learn } from './endpoint-control.ts';
import type { Endpoint, HeldDelivery } from './endpoints.ts';
import { type PostAnswer, PostAttempt } from './post-attempt.ts';
import type { AttemptResult } from './record-attempts.ts';
import { signWebhook } from './sign.ts';

export interface AttemptsDeps {
  clock: Clock;
  counts?: WorkCounts;
  trace?: Trace | undefined;
  outbound: Outbound;
  /** In [0, 1); for the jitter of retries. */
  random: () => number;
  /** Timeout of a whole attempt, including reading the body. */
  timeoutMs: number;
  /**
   * False: another worker may hold these deliveries by now. Nothing begins; {@link Attempts.begin} is called
   * again later.
   */
  isAlive(): boolean;
  /**
   * Called with the result of each attempt, except those cut off by the end of the process: they do not
   * count.
   */
  onResult(endpoint: Endpoint, result: AttemptResult): void;
  /** An attempt has become slow: it no longer counts toward the limit for quick ones. */
  onSlow(): void;
  /** Returns deliveries that will not be attempted now. */
  release(deliveries: HeldDelivery[]): void;
}

export interface Attempts {
  /**
   * Begins as many waiting deliveries of this endpoint as it has slots for, in turns with other endpoints.
   */
  begin(endpoint: Endpoint): void;
  inFlight(): number;
  /** Attempts among them that have waited a second or more for an answer. */
  slow(): number;
  start(): void;
  /** Gives attempts in progress this long to end, then aborts them and returns their deliveries. */
  stop(graceMs: number): Promise<HeldDelivery[]>;
}

/**
 * Attempts begun in one turn of the event loop, and per endpoint before the next one's turn: a hundred at
 * once would delay the answers and claims of others by milliseconds.
 */
const TURN = 8;
const ENDPOINT_TURN = 4;
/** Maximum interval between checks of the attempts' ages. */
const TICK_MS = 250;

/** State shared by the functions of one dispatcher's attempts. */
interface AttemptsContext {
  deps: AttemptsDeps;
  /** In starting order: the first to time out is first. */
  underWay: Roster<{ attempt: PostAttempt; delivery: HeldDelivery }>;
  slow: Set<PostAttempt>;
  /** Endpoints with deliveries to begin, first come first served. */
  ready: Set<Endpoint>;
  isTurnDue: boolean;
  isStopped: boolean;
}

/** Makes attempts: signs, sends, and reports each result and when to try again (WHK-5 to WHK-9). */
export function createAttempts(deps: AttemptsDeps): Attempts {
  const context: AttemptsContext = {
    deps,
    underWay: createRoster(),
    slow: new Set(),
    ready: new Set(),
    isTurnDue: false,
    isStopped: false,
  };
  const { underWay } = context;
  let ticker: NodeJS.Timeout | null = null;
  return {
    begin: (endpoint) => begin(context, endpoint),
    inFlight: () => underWay.size,
    slow: () => context.slow.size,
    start() {
      ticker = setInterval(() => tick(context), Math.min(TICK_MS, deps.timeoutMs / 4));
    },
    async stop(graceMs) {
      context.isStopped = true;
      const deadline = performance.now() + graceMs;
      while (underWay.size > 0 && performance.now() < deadline) await delay(20);
      if (ticker) clearInterval(ticker);
      const left = underWay.items();
      for (const { attempt } of left) attempt.abort(STOPPED);
      return left.map(({ delivery }) => delivery);
    },
  };
}

function begin(context: AttemptsContext, endpoint: Endpoint): void {
  context.ready.add(endpoint);
  if (context.isTurnDue) return;
  context.isTurnDue = true;
  setImmediate(() => takeTurn(context));
}

function takeTurn(context: AttemptsContext): void {
  context.isTurnDue = false;
  let left = TURN;
  for (const endpoint of context.ready) {
    context.ready.delete(endpoint);
    const most = Math.min(left, ENDPOINT_TURN);
    const begun = beginUpTo(context, endpoint, most);
    left -= begun;
    // Endpoints that may have more go to the end of the line.
    if (begun === most) begin(context, endpoint);
    if (left === 0) return;
  }
}

function beginUpTo(context: AttemptsContext, endpoint: Endpoint, most: number): number {
  const { deps } = context;
  if (!deps.isAlive()) return 0;
  const { released, config, allowed } = planBegin(endpoint, most, context.isStopped, performance.now());
  if (released.length > 0) deps.release(released);
  if (!config) return 0;
  let begun = 0;
  for (; endpoint.inFlight < allowed; begun += 1) {
    const delivery = nextOf(endpoint);
    if (!delivery) break;
    beginOne(context, endpoint, config, delivery);
  }
  return begun;
}

/** The attempt always ends in a later turn of the event loop: until then it holds its slot. */
function beginOne(
  context: AttemptsContext,
  endpoint: Endpoint,
  config: EndpointConfig,
  delivery: HeldDelivery,
): void {
  const { deps, underWay, slow } = context;
  endpoint.inFlight += 1;
  if (delivery.attempts > 0) endpoint.retriesInFlight += 1;
  const attempt = new PostAttempt((answer) => {
    leave();
    slow.delete(attempt);
    onAnswer(context, endpoint, config, delivery, answer);
  });
  const leave = underWay.add({ attempt, delivery });
  try {
    if (config.unusable) throw config.unusable;
    const body = Buffer.from(delivery.body!);
    const headers = signedHeaders(config, delivery.eventId, body, deps.clock.now().getTime());
    attempt.send(deps.outbound.to(config.url), { path: config.path, headers, body });
  } catch (err) {
    setImmediate(() => attempt.abort(err as Error));
  }
}

function onAnswer(
  context: AttemptsContext,
  endpoint: Endpoint,
  config: EndpointConfig,
  delivery: HeldDelivery,
  answer: PostAnswer,
): void {
  const { deps, ready } = context;
  endpoint.inFlight -= 1;
  if (delivery.attempts > 0) endpoint.retriesInFlight -= 1;
  if (answer.err === STOPPED) return;
  const result = resultOf(config, delivery, answer, { at: deps.clock.now(), random: deps.random });
  // Then the answer may be that of another endpoint.
  const wasChanged = endpoint.config !== config;
  // The endpoint wants nothing more: its waiting deliveries are released, and stay released once the webhook
  // is disabled.
  if (result.statusCode === 410 && !wasChanged) endpoint.config = null;
  const { errorClass, latencyMs } = result;
  const nowMs = performance.now();
  if (deps.trace) traceAttempt(deps.trace, delivery, result);
  deps.counts?.onAttemptEnd({
    endpoint: classOfEndpoint(endpoint.control),
    errorClass,
    latencyMs,
    sinceEventMs: result.endedAt.getTime() - timeOfId(delivery.eventId),
  });
  if (!wasChanged) learn(endpoint.control, { errorClass, latencyMs, nowMs });
  noteAttempt(endpoint.catchUp, {
    errorClass,
    isEarly: delivery.isEarly,
    startedAtMs: nowMs - answer.latencyMs,
    nowMs,
    hasRetries: endpoint.retryAtMs !== null,
  });
  // An answer frees a slot for the same endpoint; it waits for its turn only if other endpoints do.
  if (ready.size === 0 || (ready.size === 1 && ready.has(endpoint))) beginUpTo(context, endpoint, 2);
  else begin(context, endpoint);
  deps.onResult(endpoint, result);
}

function traceAttempt(trace: Trace, delivery: HeldDelivery, result: AttemptResult): void {
  const { traceId, webhookId, type } = delivery;
  if (traceId === null) return;
  trace({
    traceId,
    name: 'deliver',
    kind: 'client',
    durationMs: result.latencyMs,
    endedAtMs: result.endedAt.getTime(),
    attributes: {
      'posthorn.webhook_id': webhookId,
      'posthorn.event_type': type,
      'posthorn.attempt': result.attempt,
      ...(result.statusCode !== null && { 'http.response.status_code': result.statusCode }),
    },
    failure: result.errorClass === '' ? undefined : result.errorClass,
  });
}

/** Aborts attempts that timed out, and counts those that became slow. */
function tick({ deps, underWay, slow }: AttemptsContext): void {
  const { timeoutMs } = deps;
  const before = slow.size;
  const judged = judgeAges(
    underWay.items().map(({ attempt }) => attempt),
    timeoutMs,
    performance.now(),
  );
  for (const attempt of judged.slow) slow.add(attempt);
  for (const attempt of judged.late)
    attempt.abort(new OutboundError('timeout', `no complete answer within ${timeoutMs} ms`));
  if (slow.size > before) deps.onSlow();
}

/** An attempt aborted by the end of the process does not count: it is repeated under the same number. */
const STOPPED = new Error('the worker stops');

function signedHeaders(config: EndpointConfig, eventId: string, body: Buffer, nowMs: number): string[] {
  const timestampS = Math.floor(nowMs / 1000);
  const earlier = config.earlierKeys.filter(({ untilMs }) => untilMs > nowMs);
  const keys = [config.key, ...earlier.map(({ key }) => key)];
  return [
    ...config.headers,
    'webhook-id',
    eventId,
    'webhook-timestamp',
    String(timestampS),
    'webhook-signature',
    signWebhook(keys, { id: eventId, timestampS, body }),
  ];
}
