import { setTimeout as delay } from 'node:timers/promises';
import type { ErrorClass } from '@posthorn/contract/messaging/webhooks.ts';
import type { Clock } from '@posthorn/core/platform/clock.ts';
import { faultOf, type Outbound, OutboundError } from '@posthorn/core/platform/outbound-http.ts';
import type { EndpointConfig } from '@posthorn/core/webhooks/delivery/endpoint-config.ts';
import { allowedInFlight, isBroken, learn } from '@posthorn/core/webhooks/delivery/endpoint-control.ts';
import { classOfStatus, parseRetryAfterMs, retryDelayMs } from '@posthorn/core/webhooks/delivery/outcome.ts';
import type { AttemptResult } from '@posthorn/core/webhooks/delivery/record-attempts.ts';
import { signWebhook } from '@posthorn/core/webhooks/delivery/sign.ts';
import type { Endpoint, HeldDelivery } from './endpoints.ts';
import { type PostAnswer, PostAttempt } from './post-attempt.ts';

export interface AttemptsDeps {
  clock: Clock;
  outbound: Outbound;
  /** In [0, 1); for the jitter of retries. */
  random: () => number;
  /** For an attempt in all, body read included. */
  timeoutMs: number;
  /** False: what is held here may be another's by now. Nothing is begun; {@link Attempts.begin} is called again. */
  isAlive(): boolean;
  /** How one ended. Not told of those that end with the process: they were none. */
  onResult(endpoint: Endpoint, result: AttemptResult): void;
  /** An attempt has become slow: it no longer counts among what is held for the quick ones. */
  onSlow(): void;
  /** Deliveries that will not be attempted now. */
  giveBack(deliveries: HeldDelivery[]): void;
}

export interface Attempts {
  /** Deliveries wait at this endpoint: begins as many as it has slots for, in turns with the other endpoints. */
  begin(endpoint: Endpoint): void;
  inFlight(): number;
  /** Of them, those that have been waiting for an answer for a second or more. */
  slow(): number;
  start(): void;
  /** Lets what is under way end for so long, then cuts it off; those deliveries come back. */
  stop(graceMs: number): Promise<HeldDelivery[]>;
}

const SLOW_MS = 1_000;
/**
 * Attempts begun in one turn of the event loop, and of one endpoint before the next one's: a claim of a
 * hundred would keep the answers and claims of the others waiting for milliseconds.
 */
const TURN = 8;
const ENDPOINT_TURN = 4;
/** First attempts go before retries, but one retry is begun after so many: a long backlog would starve them. */
const FRESH_IN_ROW = 7;

/** Makes attempts: signs, sends, and says what came of each and when to try again (WHK-5 to WHK-9). */
export function createAttempts(deps: AttemptsDeps): Attempts {
  const { clock, timeoutMs } = deps;
  /** In the order they began: the first to time out stands first. */
  const underWay = new Map<PostAttempt, HeldDelivery>();
  const slowOnes = new Set<PostAttempt>();
  /** Endpoints with deliveries to begin, first come first served. */
  const ready = new Set<Endpoint>();
  let turnIsDue = false;
  let stopped = false;
  let ticker: NodeJS.Timeout | null = null;

  function begin(endpoint: Endpoint): void {
    ready.add(endpoint);
    if (turnIsDue) return;
    turnIsDue = true;
    setImmediate(takeTurn);
  }

  function takeTurn(): void {
    turnIsDue = false;
    let left = TURN;
    for (const endpoint of ready) {
      ready.delete(endpoint);
      const most = Math.min(left, ENDPOINT_TURN);
      const begun = beginUpTo(endpoint, most);
      left -= begun;
      // Those that may have more go to the end of the line.
      if (begun === most) begin(endpoint);
      if (left === 0) return;
    }
  }

  function beginUpTo(endpoint: Endpoint, most: number): number {
    if (!deps.isAlive()) return 0;
    const now = performance.now();
    const { config } = endpoint;
    // Kept here they would fill its room, and nothing would ever ask it again. Without a configuration the
    // webhook was deleted a moment ago: the next claim discards its deliveries.
    if (!config || stopped || isBroken(endpoint.control, now)) {
      deps.giveBack([...endpoint.fresh.splice(0), ...endpoint.retries.splice(0)]);
      return 0;
    }
    giveBackLate(endpoint, now);
    const allowed = Math.min(allowedInFlight(endpoint.control, now), endpoint.inFlight + most);
    let begun = 0;
    for (; endpoint.inFlight < allowed; begun += 1) {
      const delivery = nextOf(endpoint);
      if (!delivery) break;
      beginOne(endpoint, config, delivery);
    }
    return begun;
  }

  /** What waited here for so long that its lease might end during the attempt; the first ones were claimed first. */
  function giveBackLate(endpoint: Endpoint, now: number): void {
    const late: HeldDelivery[] = [];
    for (const queue of [endpoint.fresh, endpoint.retries])
      while (queue[0] && queue[0].beginUntilMs < now) late.push(queue.shift()!);
    if (late.length > 0) deps.giveBack(late);
  }

  /** However it ends, it does so in a later turn of the event loop: until then it holds its slot. */
  function beginOne(endpoint: Endpoint, config: EndpointConfig, delivery: HeldDelivery): void {
    endpoint.inFlight += 1;
    if (delivery.attempts > 0) endpoint.retriesInFlight += 1;
    const attempt = new PostAttempt((answer) => {
      underWay.delete(attempt);
      slowOnes.delete(attempt);
      onAnswer(endpoint, config, delivery, answer);
    });
    underWay.set(attempt, delivery);
    try {
      if (config.unusable) throw config.unusable;
      const body = Buffer.from(delivery.body!);
      const headers = signedHeaders(config, delivery.eventId, body, clock.now().getTime());
      attempt.send(deps.outbound.to(config.url), { path: config.path, headers, body });
    } catch (err) {
      setImmediate(() => attempt.abort(err as Error));
    }
  }

  function onAnswer(
    endpoint: Endpoint,
    config: EndpointConfig,
    delivery: HeldDelivery,
    answer: PostAnswer,
  ): void {
    endpoint.inFlight -= 1;
    if (delivery.attempts > 0) endpoint.retriesInFlight -= 1;
    if (answer.err === STOPPED) return;
    const result = resultOf(config, delivery, answer);
    // It wants nothing more: what waits here goes back, and stays there once the webhook is disabled.
    if (result.statusCode === 410 && endpoint.config === config) endpoint.config = null;
    learn(endpoint.control, {
      errorClass: result.errorClass,
      latencyMs: result.latencyMs,
      nowMs: performance.now(),
    });
    // Its own slots, one for one: only beside others does it wait for its turn.
    if (ready.size === 0 || (ready.size === 1 && ready.has(endpoint))) beginUpTo(endpoint, 2);
    else begin(endpoint);
    deps.onResult(endpoint, result);
  }

  function resultOf(config: EndpointConfig, delivery: HeldDelivery, answer: PostAnswer): AttemptResult {
    const endedAt = clock.now();
    const errorClass = classOf(answer);
    const attempt = delivery.attempts + 1;
    const delayMs =
      errorClass === ''
        ? null
        : retryDelayMs({
            attempt,
            errorClass,
            statusCode: answer.statusCode,
            retryAfterMs: parseRetryAfterMs(answer.retryAfter, endedAt.getTime()),
            random: deps.random(),
          });
    return {
      deliveryId: delivery.id,
      attempt,
      webhookUrl: config.webhookUrl,
      eventType: delivery.type,
      instanceId: delivery.instanceId,
      statusCode: answer.statusCode,
      errorClass,
      response: answer.err && answer.response === '' ? answer.err.message.slice(0, 200) : answer.response,
      latencyMs: Math.round(answer.latencyMs),
      endedAt,
      nextAttemptAt: delayMs === null ? null : new Date(endedAt.getTime() + delayMs),
    };
  }

  /** Ends attempts whose time is up, and counts those that have become slow. */
  function tick(): void {
    const now = performance.now();
    const before = slowOnes.size;
    for (const attempt of underWay.keys()) {
      const ageMs = now - attempt.startedAt;
      if (ageMs < SLOW_MS) break;
      if (ageMs >= timeoutMs)
        attempt.abort(new OutboundError('timeout', `no complete answer within ${timeoutMs} ms`));
      else slowOnes.add(attempt);
    }
    if (slowOnes.size > before) deps.onSlow();
  }

  return {
    begin,
    inFlight: () => underWay.size,
    slow: () => slowOnes.size,
    start() {
      ticker = setInterval(tick, Math.min(250, timeoutMs / 4));
    },
    async stop(graceMs) {
      stopped = true;
      const deadline = performance.now() + graceMs;
      while (underWay.size > 0 && performance.now() < deadline) await delay(20);
      if (ticker) clearInterval(ticker);
      const left = [...underWay];
      for (const [attempt] of left) attempt.abort(STOPPED);
      return left.map(([, delivery]) => delivery);
    },
  };
}

/** First attempts before retries, but for one retry after {@link FRESH_IN_ROW}. */
function nextOf(endpoint: Endpoint): HeldDelivery | undefined {
  const isRetrysTurn = endpoint.freshInRow >= FRESH_IN_ROW && endpoint.retries.length > 0;
  const first = isRetrysTurn ? undefined : endpoint.fresh.shift();
  if (first) {
    endpoint.freshInRow += 1;
    return first;
  }
  endpoint.freshInRow = 0;
  return endpoint.retries.shift();
}

/**
 * An answer whose status came has told the outcome, even if its body was cut off after that: sent again, a 2xx
 * would be a duplicate. Only time counts the body in (WHK-7).
 */
function classOf({ err, statusCode }: PostAnswer): ErrorClass {
  const fault = err && faultOf(err);
  return fault && (statusCode === null || fault === 'timeout') ? fault : classOfStatus(statusCode!);
}

/** An attempt that ends with the process is no attempt: it is made again under the same number. */
const STOPPED = new Error('the worker stops');

function signedHeaders(config: EndpointConfig, eventId: string, body: Buffer, nowMs: number): string[] {
  const timestampS = Math.floor(nowMs / 1000);
  const isGraceOver = config.previousKeyUntilMs !== null && config.previousKeyUntilMs <= nowMs;
  const keys = isGraceOver ? config.keys.slice(0, 1) : config.keys;
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
