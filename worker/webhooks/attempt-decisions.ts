/** Decides what to attempt next at an endpoint and how to record the result, without I/O or a clock. */
import type { ErrorClass } from '@posthorn/contract/messaging/webhooks.ts';
import { faultOf } from '@posthorn/core/platform/http/outbound-http.ts';
import type { EndpointConfig } from './endpoint-config.ts';
import { allowedInFlight, isBroken } from './endpoint-control.ts';
import type { Endpoint, HeldDelivery } from './endpoints.ts';
import { classOfStatus, parseRetryAfterMs, retryDelayMs } from './outcome.ts';
import type { PostAnswer } from './post-attempt.ts';
import type { AttemptResult } from './record-attempts.ts';

/**
 * First attempts precede retries, but one retry begins after this many: a long backlog would starve retries.
 */
const FRESH_IN_ROW = 7;
const SLOW_MS = 1_000;

/** Removes the deliveries to release from the endpoint, and says which of the rest may begin. */
export interface BeginPlan {
  /** Deliveries this process will no longer attempt. */
  released: HeldDelivery[];
  /** The configuration to attempt with; null: nothing may begin. */
  config: EndpointConfig | null;
  /** Maximum attempts in progress at this endpoint. */
  allowed: number;
}

/** `most`: attempts that may begin now. */
export function planBegin(endpoint: Endpoint, most: number, isStopped: boolean, nowMs: number): BeginPlan {
  const { config, control } = endpoint;
  // Kept here they would fill its room, and no attempt would ever free it. Without a configuration the
  // webhook was deleted a moment ago: the next claim discards its deliveries.
  if (!config || isStopped || isBroken(control, nowMs))
    return { released: takeAll(endpoint), config: null, allowed: 0 };
  const allowed = Math.min(allowedInFlight(control, nowMs), endpoint.inFlight + most);
  return { released: [...takeLate(endpoint, nowMs), ...takeEarly(endpoint)], config, allowed };
}

/** Removes and returns all deliveries waiting at the endpoint. */
export function takeAll(endpoint: Endpoint): HeldDelivery[] {
  return [...endpoint.fresh.splice(0), ...endpoint.retries.splice(0)];
}

/**
 * Removes and returns deliveries that waited so long that their lease might end during the attempt; the
 * queues are in claim order.
 */
function takeLate(endpoint: Endpoint, nowMs: number): HeldDelivery[] {
  const late: HeldDelivery[] = [];
  for (const queue of [endpoint.fresh, endpoint.retries])
    while (queue[0] && queue[0].beginUntilMs < nowMs) late.push(queue.shift()!);
  return late;
}

/** Removes and returns retries that are not due, once their endpoint no longer catches up. */
function takeEarly(endpoint: Endpoint): HeldDelivery[] {
  if (endpoint.catchUp.window > 0 || endpoint.retries.length === 0) return [];
  const early = endpoint.retries.filter(({ isEarly }) => isEarly);
  if (early.length > 0) endpoint.retries = endpoint.retries.filter(({ isEarly }) => !isEarly);
  return early;
}

/** The next delivery: first attempts before retries, except for one retry after {@link FRESH_IN_ROW}. */
export function nextOf(endpoint: Endpoint): HeldDelivery | undefined {
  const isRetrysTurn = endpoint.freshInRow >= FRESH_IN_ROW && endpoint.retries.length > 0;
  const first = isRetrysTurn ? undefined : endpoint.fresh.shift();
  if (first) {
    endpoint.freshInRow += 1;
    return first;
  }
  endpoint.freshInRow = 0;
  return endpoint.retries.shift();
}

/** Finds the attempts that timed out and those that became slow. `underWay` is in starting order. */
export function judgeAges<T extends { startedAt: number }>(
  underWay: Iterable<T>,
  timeoutMs: number,
  nowMs: number,
): { late: T[]; slow: T[] } {
  const late: T[] = [];
  const slow: T[] = [];
  for (const attempt of underWay) {
    const ageMs = nowMs - attempt.startedAt;
    if (ageMs < SLOW_MS) break;
    (ageMs >= timeoutMs ? late : slow).push(attempt);
  }
  return { late, slow };
}

/** The record of an attempt, with the time of the next one. `random` in [0, 1), for the jitter. */
export function resultOf(
  config: Pick<EndpointConfig, 'webhookUrl' | 'version'>,
  delivery: HeldDelivery,
  answer: PostAnswer,
  end: { at: Date; random: () => number },
): AttemptResult {
  const errorClass = classOf(answer);
  const attempt = delivery.attempts + 1;
  const retryAfterMs = parseRetryAfterMs(answer.retryAfter, end.at.getTime());
  const delayMs =
    errorClass === ''
      ? null
      : retryDelayMs({
          attempt,
          errorClass,
          statusCode: answer.statusCode,
          retryAfterMs,
          random: end.random(),
        });
  // Not twice in a row before it is due, and never before the time that the receiver asked for.
  const earlyFromMs =
    delayMs === null ? null : delivery.isEarly ? delayMs : retryAfterMs && Math.min(retryAfterMs, delayMs);
  return {
    deliveryId: delivery.id,
    attempt,
    webhookUrl: config.webhookUrl,
    webhookVersion: config.version,
    eventType: delivery.type,
    instanceId: delivery.instanceId,
    statusCode: answer.statusCode,
    errorClass,
    response: answer.err && answer.response === '' ? answer.err.message.slice(0, 200) : answer.response,
    latencyMs: Math.round(answer.latencyMs),
    endedAt: end.at,
    nextAttemptAt: delayMs === null ? null : new Date(end.at.getTime() + delayMs),
    earlyFrom: earlyFromMs === null ? null : new Date(end.at.getTime() + earlyFromMs),
  };
}

/**
 * Once the status arrived the outcome is known, even if the body was cut off: repeating a 2xx would be a
 * duplicate. Only the timeout includes the body (WHK-7).
 */
function classOf({ err, statusCode }: PostAnswer): ErrorClass {
  const fault = err && faultOf(err);
  return fault && (statusCode === null || fault === 'timeout') ? fault : classOfStatus(statusCode!);
}
