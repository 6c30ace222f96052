/** What to attempt next at an endpoint, and what came of an attempt: decisions alone, without I/O or a clock. */
import type { ErrorClass } from '@posthorn/contract/messaging/webhooks.ts';
import { faultOf } from '@posthorn/core/platform/http/outbound-http.ts';
import type { EndpointConfig } from './endpoint-config.ts';
import { allowedInFlight, isBroken } from './endpoint-control.ts';
import type { Endpoint, HeldDelivery } from './endpoints.ts';
import { classOfStatus, parseRetryAfterMs, retryDelayMs } from './outcome.ts';
import type { PostAnswer } from './post-attempt.ts';
import type { AttemptResult } from './record-attempts.ts';

/** First attempts go before retries, but one retry is begun after so many: a long backlog would starve them. */
const FRESH_IN_ROW = 7;
const SLOW_MS = 1_000;

/** Takes out of the endpoint what is to be released, and says what may be begun of the rest. */
export interface BeginPlan {
  /** Not to be attempted here any more. */
  released: HeldDelivery[];
  /** The configuration to attempt with; null: nothing is begun. */
  config: EndpointConfig | null;
  /** Attempts under way at this endpoint, at most. */
  allowed: number;
}

/** `most`: attempts that may be begun now. */
export function planBegin(endpoint: Endpoint, most: number, isStopped: boolean, nowMs: number): BeginPlan {
  const { config, control } = endpoint;
  // Kept here they would fill its room, and nothing would ever ask it again. Without a configuration the
  // webhook was deleted a moment ago: the next claim discards its deliveries.
  if (!config || isStopped || isBroken(control, nowMs))
    return { released: takeAll(endpoint), config: null, allowed: 0 };
  const allowed = Math.min(allowedInFlight(control, nowMs), endpoint.inFlight + most);
  return { released: takeLate(endpoint, nowMs), config, allowed };
}

/** Everything that waits at the endpoint. */
export function takeAll(endpoint: Endpoint): HeldDelivery[] {
  return [...endpoint.fresh.splice(0), ...endpoint.retries.splice(0)];
}

/** What waited for so long that its lease might end during the attempt; the first ones were claimed first. */
function takeLate(endpoint: Endpoint, nowMs: number): HeldDelivery[] {
  const late: HeldDelivery[] = [];
  for (const queue of [endpoint.fresh, endpoint.retries])
    while (queue[0] && queue[0].beginUntilMs < nowMs) late.push(queue.shift()!);
  return late;
}

/** First attempts before retries, but for one retry after {@link FRESH_IN_ROW}. */
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

/** Of attempts in the order in which they began: those whose time is up, and those that have become slow. */
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

/** What is recorded of an attempt, and when to try again. `random` in [0, 1), for the jitter. */
export function resultOf(
  config: Pick<EndpointConfig, 'webhookUrl'>,
  delivery: HeldDelivery,
  answer: PostAnswer,
  end: { at: Date; random: () => number },
): AttemptResult {
  const errorClass = classOf(answer);
  const attempt = delivery.attempts + 1;
  const delayMs =
    errorClass === ''
      ? null
      : retryDelayMs({
          attempt,
          errorClass,
          statusCode: answer.statusCode,
          retryAfterMs: parseRetryAfterMs(answer.retryAfter, end.at.getTime()),
          random: end.random(),
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
    endedAt: end.at,
    nextAttemptAt: delayMs === null ? null : new Date(end.at.getTime() + delayMs),
  };
}

/**
 * An answer whose status came has told the outcome, even if its body was cut off after that: sent again, a 2xx
 * would be a duplicate. Only time counts the body in (WHK-7).
 */
function classOf({ err, statusCode }: PostAnswer): ErrorClass {
  const fault = err && faultOf(err);
  return fault && (statusCode === null || fault === 'timeout') ? fault : classOfStatus(statusCode!);
}
